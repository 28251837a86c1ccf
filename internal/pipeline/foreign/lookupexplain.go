package foreign

import (
	"context"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
)

// noCollection is the collection name that MongoDB shows for a pipeline whose first stage generates
// documents.
const noCollection = "$cmd.aggregate"

// Explain implements parsing.Stage.
func (l *Lookup) Explain(ctx context.Context, x *parsing.Explaining) ([]parsing.Form, error) {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	from := l.From
	if from == "" {
		from = noCollection
	}
	b.String("from", from)
	b.String("as", strings.Join(l.As, "."))
	if l.Local != nil {
		b.String("localField", strings.Join(l.Local, "."))
		b.String("foreignField", l.Foreign)
	}
	stages := x.Below(l.DB, l.From, l.Stages)
	stages = append(stages[:len(stages):len(stages)], l.Only...)
	if l.Piped || len(stages) > 0 {
		let := x.Spec.Doc().Lookup("let").Doc()
		b.StartDocField("let")
		for it := let.Iter(); it.Next(); {
			b.ValueBytes(it.Key(), x.Expression(it.Value()))
		}
		b.End()
		_, vars, err := parsing.ParseLets(let, l.Opts.Vars)
		if err != nil {
			return nil, err
		}
		docs, err := x.Sub(ctx, stages, l.DB, vars)
		if err != nil {
			return nil, err
		}
		b.Value("pipeline", bsonx.ValueOf(docs))
	}
	if u := l.Unwind; u != nil {
		b.StartDocField("unwinding")
		b.Bool("preserveNullAndEmptyArrays", u.Keep)
		if u.Index != nil {
			b.String("includeArrayIndex", strings.Join(u.Index, "."))
		}
		b.End()
	}
	b.End()
	return parsing.Forms(bsonx.NewDoc("$lookup", bsonx.Doc(b.Bytes()))), nil
}

// Figures implements parsing.Measured.
func (*Lookup) Figures(b *bsonx.Builder, run *parsing.Run) {
	run.Out.Append(b)
	b.Int64("totalDocsExamined", run.Examined.Docs)
	b.Int64("totalKeysExamined", run.Examined.Keys)
	b.Int64("collectionScans", run.Examined.Scans)
	b.StartArrayField("indexesUsed")
	for _, name := range run.Examined.Indexes {
		b.Elem(bsonx.String(name))
	}
	b.End()
}
