package foreign

import (
	"context"
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
	"github.com/sheafdb/sheaf/internal/pipeline/unwind"
)

// Lookup is the compiled $lookup. It adds an array with the matching documents of another
// collection.
type Lookup struct {
	DB, From string // From is empty if the first stage of the pipeline generates the documents
	As       []string
	Local    []string // the path localField; nil if absent
	Foreign  string
	Let      []parsing.Let
	Stages   []bsonx.Value
	Piped    bool // the stage has a pipeline
	cached   bool // the results may be cached by the values that they depend on
	Opts     parsing.Options

	// Unwind is a $unwind of the array that is fused with this stage, or nil.
	Unwind *unwind.Stage
	Only   []bsonx.Value // a $match that found documents must satisfy; may be empty
	Wanted []string      // the top-level fields that later stages read; nil means all

	Tables *Tables // the table that the goroutines of one run share; nil on one goroutine
}

// lookupArgs contains the arguments as the client wrote them.
type lookupArgs struct {
	from, as, local, foreign, let, pipeline bsonx.Value
}

// lookupBudget is the memory limit of $lookup.
var lookupBudget = source.Budget{
	Param: "internalLookupStageIntermediateDocumentMaxSizeBytes",
	Least: limits.InternalDocumentBytes,
}

// LookupDefinition returns the definition of $lookup.
func LookupDefinition() parsing.Definition {
	return parsing.Definition{
		Name: "$lookup", Parse: parseLookup,
		Safety:     parsing.Safety{Writes: feature.No, Transactions: feature.Yes, StableAPI: parsing.EveryUse},
		Properties: parsing.OfDocuments(), Inside: insideJoin, Foreign: []string{"pipeline"},
		Budget: lookupBudget,
	}
}

// parseLookup compiles the argument of $lookup.
func parseLookup(arg bsonx.Value, opts parsing.Options) ([]parsing.Stage, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(mongoerr.FailedToParse, "the $lookup stage specification must be an object, but found %s", arg.Type)
	}
	var args lookupArgs
	if err := args.read(arg.Doc()); err != nil {
		return nil, err
	}
	if err := args.check(); err != nil {
		return nil, err
	}
	l := &Lookup{DB: opts.DB, Opts: opts, Piped: !args.pipeline.IsMissing()}
	l.cached = opts.IsRepeatable(args.pipeline)
	if !args.from.IsMissing() {
		l.From = args.from.Str()
		if l.From == "" {
			return nil, mongoerr.New(mongoerr.InvalidNamespace, "invalid $lookup namespace: %s", opts.DB)
		}
		if err := parsing.CheckCollection(l.From); err != nil {
			return nil, err
		}
	}
	var err error
	if l.As, err = expr.SplitFieldPath(args.as.Str()); err != nil {
		return nil, err
	}
	if !args.local.IsMissing() {
		if l.Local, err = expr.SplitFieldPath(args.local.Str()); err != nil {
			return nil, err
		}
		l.Foreign = args.foreign.Str()
		if _, err = expr.SplitFieldPath(l.Foreign); err != nil {
			return nil, err
		}
	}
	return []parsing.Stage{l}, l.setPipeline(args.let, args.pipeline)
}

func (a *lookupArgs) read(spec bsonx.Doc) error {
	for it := spec.Iter(); it.Next(); {
		name, v := string(it.Key()), it.Value()
		switch name {
		case "pipeline":
			a.pipeline = v
			if v.Type != bsonx.TypeArray {
				return mongoerr.New(mongoerr.TypeMismatch, "A pipeline must be an array of objects")
			}
			continue
		case "let":
			a.let = v
			if v.Type != bsonx.TypeDocument {
				return mongoerr.New(mongoerr.FailedToParse,
					"$lookup argument 'let: %s' must be an object, is type %s", bsonx.FormatShell(v), v.Type)
			}
			continue
		case "from":
			a.from = v
			if v.Type == bsonx.TypeDocument {
				return mongoerr.New(mongoerr.FailedToParse, "$lookup with syntax {from: {db:<>, coll:<>},..} is not supported for db: %s and coll: %s",
					v.Doc().LookupText("db"), v.Doc().LookupText("coll"))
			}
		case "as":
			a.as = v
		case "localField":
			a.local = v
		case "foreignField":
			a.foreign = v
		default:
			return mongoerr.New(mongoerr.FailedToParse, "unknown argument to $lookup: %s", name)
		}
		if name == "from" && v.Type != bsonx.TypeString {
			return mongoerr.New(mongoerr.FailedToParse, "$lookup 'from' field must be a string or an object, but found %s", v.Type)
		}
		if v.Type != bsonx.TypeString {
			return mongoerr.New(mongoerr.FailedToParse, "$lookup argument '%s: %s' must be a string, is type %s",
				name, bsonx.FormatShell(v), v.Type)
		}
	}
	return nil
}

// isNamed reports whether v is a non-empty string.
func isNamed(v bsonx.Value) bool { return v.Type == bsonx.TypeString && v.Str() != "" }

// check returns an error for missing arguments and invalid combinations.
func (a *lookupArgs) check() error {
	piped := !a.pipeline.IsMissing()
	if a.from.IsMissing() && !piped {
		return mongoerr.New(mongoerr.FailedToParse, "must specify 'pipeline' when 'from' is empty")
	}
	if a.from.IsMissing() && parsing.FirstStage(a.pipeline.Doc()) != "$documents" {
		return mongoerr.New(mongoerr.FailedToParse, "$lookup stage without explicit collection must have a pipeline with $documents as first stage")
	}
	switch {
	case a.as.IsMissing():
		return mongoerr.New(mongoerr.FailedToParse, "must specify 'as' field for a $lookup")
	case a.local.IsMissing() != a.foreign.IsMissing() && piped:
		return mongoerr.New(mongoerr.FailedToParse, "$lookup requires both or neither of 'localField' and 'foreignField' to be specified")
	case !piped && !(isNamed(a.local) && isNamed(a.foreign)):
		return mongoerr.New(mongoerr.FailedToParse, "$lookup requires either 'pipeline' or both 'localField' and 'foreignField' to be specified")
	case !piped && !a.let.IsMissing():
		return mongoerr.New(mongoerr.FailedToParse, "$lookup with a 'let' argument must also specify 'pipeline'")
	default:
		return nil
	}
}

// setPipeline checks the sub-pipeline. Its variables have no values yet.
func (l *Lookup) setPipeline(let, stages bsonx.Value) error {
	if !l.Piped {
		return nil
	}
	// Errors of constant expressions are reported when the pipeline is compiled with the values of
	// its variables.
	var ignored expr.Failures
	var err error
	inner := l.Opts
	l.Let, inner.Vars, err = parsing.ParseLets(let.Doc(), l.Opts.Vars.WithFailures(&ignored))
	if err != nil {
		return err
	}
	l.Stages = stages.Clone().Doc().Values()
	_, err = parsing.ParseSub(stages, inner, parsing.TopOf(l.From), parsing.InLookup)
	return err
}

// joined returns the sub-pipeline with a $match for the joined field in front. If the pipeline
// begins with $documents, the $match follows that stage.
func (l *Lookup) joined(locals []bsonx.Value) []bsonx.Value {
	if l.Local == nil {
		return slices.Concat(l.Stages, l.Only)
	}
	at := 0
	if l.From == "" {
		at = 1
	}
	return slices.Concat(l.Stages[:at], []bsonx.Value{matchAny(l.Foreign, locals)}, l.Stages[at:], l.Only)
}

// visitValues calls f for each value at path, and descends into arrays of documents. If the value
// at the end of the path is an array, it calls f for the elements.
func visitValues(v bsonx.Value, path []string, f func(bsonx.Value)) {
	switch {
	case len(path) == 0 && v.Type == bsonx.TypeArray:
		for it := v.Doc().Iter(); it.Next(); {
			f(it.Value())
		}
	case len(path) == 0:
		if !v.IsMissing() {
			f(v)
		}
	case v.Type == bsonx.TypeDocument:
		visitValues(v.Doc().Lookup(path[0]), path[1:], f)
	case v.Type == bsonx.TypeArray:
		if _, numeric := bsonx.ArrayIndex(path[0]); numeric {
			visitValues(v.Doc().Lookup(path[0]), path[1:], f)
		}
		for it := v.Doc().Iter(); it.Next(); {
			if it.Value().Type == bsonx.TypeDocument {
				visitValues(it.Value(), path, f)
			}
		}
	}
}

// insideJoin implements Definition.Inside for $lookup and $unionWith.
func insideJoin(arg bsonx.Value, w parsing.Walker) {
	for _, v := range []bsonx.Value{arg, parsing.Argument(arg, "from"), parsing.Argument(arg, "coll")} {
		if v.Type == bsonx.TypeString {
			w.Collection(v.Str())
		}
	}
	w.Pipeline(parsing.Argument(arg, "pipeline"))
	w.Expression(parsing.Argument(arg, "let"))
}

// Needs implements parsing.Reader.
func (l *Lookup) Needs(n *parsing.Needs) {
	if l.Local != nil {
		n.Field(l.Local[0])
	}
	for _, v := range l.Let {
		n.Expr(v.Value)
	}
	n.Define(strings.Join(l.As, "."))
	if l.Unwind != nil && l.Unwind.Index != nil {
		n.Define(strings.Join(l.Unwind.Index, "."))
	}
}

// Narrow implements parsing.Narrower.
func (l *Lookup) Narrow(fields []string) parsing.Stage {
	narrowed := *l
	narrowed.Wanted = fields
	if l.Unwind != nil {
		narrowed.Unwind = l.Unwind.Keeping(fields)
	}
	return &narrowed
}

// IsPerDocument implements parsing.PerDocument.
func (*Lookup) IsPerDocument() bool { return true }

// IsOneToOne implements parsing.OneToOne. With a fused $unwind, a document can give any number of
// results.
func (l *Lookup) IsOneToOne() bool { return l.Unwind == nil }

// Changes implements parsing.Changer.
func (l *Lookup) Changes() (fields []string, drops, ok bool) {
	return l.As[:1], false, l.IsOneToOne()
}

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
