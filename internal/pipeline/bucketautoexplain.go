package pipeline

import (
	"context"

	"github.com/sheafdb/sheaf/internal/accumulator"
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
)

// Explain implements parsing.Stage.
func (*bucketAuto) Explain(_ context.Context, x *parsing.Explaining) ([]parsing.Form, error) {
	spec := x.Spec.Doc()
	output := spec.Lookup("output")
	if output.Doc().IsEmpty() {
		output = bsonx.Document(bsonx.NewDoc("count", bsonx.NewDoc("$sum", 1)))
	}
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.Value("groupBy", x.Expression(spec.Lookup("groupBy")))
	b.Value("buckets", spec.Lookup("buckets"))
	b.Value("granularity", spec.Lookup("granularity"))
	b.StartDocField("output")
	for it := output.Doc().Iter(); it.Next(); {
		use := it.Value().Doc().First()
		b.ValueBytes(it.Key(), accumulator.Serialize(x.Serializer, string(use.Key), use.Value))
	}
	b.End()
	b.End()
	return parsing.Forms(bsonx.NewDoc("$bucketAuto", bsonx.Doc(b.Bytes()))), nil
}

// Figures implements parsing.Measured.
func (*bucketAuto) Figures(b *bsonx.Builder, run *parsing.Run) {
	run.Out.Append(b)
	if src, ok := run.Opened.(*bucketAutoSource); ok {
		appendSorted(b, src.sorter)
	}
}
