package foreign

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
	"github.com/sheafdb/sheaf/internal/pipeline/unwind"
)

// graphLookup is the compiled $graphLookup. It follows references from document to document,
// breadth first.
type graphLookup struct {
	db, from   string
	As         []string
	start      expr.Expr
	connect    []string // the path connectFromField
	connectTo  string
	depthField []string // the path depthField; nil if absent
	maxDepth   int64    // negative for no limit
	restrict   bsonx.Doc
	// Unwind is a $unwind of the array that is fused with this stage, or nil.
	Unwind *unwind.Stage
	opts   parsing.Options
}

// graphLookupBudget is the memory limit of $graphLookup.
var graphLookupBudget = source.Budget{Param: "internalDocumentSourceGraphLookupMaxMemoryBytes", Least: 1}

// GraphLookupDefinition returns the definition of $graphLookup.
func GraphLookupDefinition() parsing.Definition {
	return parsing.Definition{
		Name: "$graphLookup", Parse: parseGraphLookup,
		Safety:     parsing.Safety{Writes: feature.No, Transactions: feature.Yes, StableAPI: parsing.EveryUse},
		Properties: parsing.OfDocuments(), Inside: insideGraphLookup,
		Budget: graphLookupBudget,
	}
}

// parseGraphLookup compiles the argument of $graphLookup.
func parseGraphLookup(arg bsonx.Value, opts parsing.Options) ([]parsing.Stage, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(mongoerr.FailedToParse, "the $graphLookup stage specification must be an object, but found %s", arg.Type)
	}
	from := arg.Doc().Lookup("from")
	if from.IsMissing() {
		return nil, mongoerr.New(mongoerr.FailedToParse, "missing 'from' option to $graphLookup stage specification: %s", bsonx.FormatShell(arg))
	}
	if from.Type != bsonx.TypeString {
		return nil, mongoerr.New(mongoerr.FailedToParse,
			"$graphLookup 'from' field must be a string, but found %s", from.Type)
	}
	g := &graphLookup{db: opts.DB, from: from.Str(), maxDepth: -1, opts: opts}
	if g.from == "" {
		return nil, mongoerr.New(mongoerr.InvalidNamespace, "invalid $graphLookup namespace: %s", opts.DB)
	}
	if err := parsing.CheckCollection(g.from); err != nil {
		return nil, err
	}
	for it := arg.Doc().Iter(); it.Next(); {
		if err := g.set(string(it.Key()), it.Value()); err != nil {
			return nil, err
		}
	}
	if g.As == nil || g.start == nil || g.connect == nil || g.connectTo == "" {
		return nil, mongoerr.New(40105, "$graphLookup requires 'from', 'as', 'startWith', 'connectFromField', and 'connectToField' to be specified.")
	}
	return []parsing.Stage{g}, nil
}

func (g *graphLookup) set(name string, v bsonx.Value) (err error) {
	switch name {
	case "startWith":
		g.start, err = expr.Parse(v.Clone(), g.opts.Vars.WithFailures(nil))
		return err
	case "maxDepth":
		return g.setMaxDepth(v)
	case "restrictSearchWithMatch":
		if v.Type != bsonx.TypeDocument {
			return mongoerr.New(40185, "restrictSearchWithMatch must be an object, found %s", v.Type)
		}
		g.restrict = v.Doc().Clone()
		_, err := filter.Parse(g.restrict,
			filter.Options{
				Vars: g.opts.Vars.WithFailures(&expr.Failures{}), Now: g.opts.Now,
				AllowExpr: true, Collation: g.opts.Collation,
			})
		return err
	case "from":
		return nil
	case "as", "connectFromField", "connectToField", "depthField":
	default:
		return mongoerr.New(40104, "Unknown argument to $graphLookup: %s", name)
	}
	if v.Type != bsonx.TypeString {
		return mongoerr.New(40103, "expected string as argument for %s, found: %s", name, bsonx.FormatShell(v))
	}
	path, err := expr.SplitFieldPath(v.Str())
	switch name {
	case "as":
		g.As = path
	case "connectFromField":
		g.connect = path
	case "connectToField":
		g.connectTo = v.Str()
	default:
		g.depthField = path
	}
	return err
}

func (g *graphLookup) setMaxDepth(v bsonx.Value) error {
	if !v.Type.IsNumber() {
		return mongoerr.New(40100, "maxDepth requires numeric argument, found type: %s", v.Type)
	}
	n, ok := v.AsExactInt64()
	if f, _ := v.AsFloat64(); f < 0 {
		return mongoerr.New(40101, "maxDepth requires a nonnegative argument, found: %s", bsonx.FormatShell(v))
	}
	if !ok {
		return mongoerr.New(40102, "maxDepth could not be represented as a long long: %s", bsonx.FormatShell(v))
	}
	g.maxDepth = n
	return nil
}

func insideGraphLookup(arg bsonx.Value, w parsing.Walker) {
	if from := parsing.Argument(arg, "from"); from.Type == bsonx.TypeString {
		w.Collection(from.Str())
	}
	w.Expression(parsing.Argument(arg, "startWith"))
	w.Filter(parsing.Argument(arg, "restrictSearchWithMatch"))
}

// IsOneToOne implements parsing.OneToOne. With a fused $unwind, a document can give any number of
// results.
func (g *graphLookup) IsOneToOne() bool { return g.Unwind == nil }

// Changes implements parsing.Changer.
func (g *graphLookup) Changes() (fields []string, drops, ok bool) {
	return g.As[:1], false, g.IsOneToOne()
}

// Explain implements parsing.Stage.
func (*graphLookup) Explain(_ context.Context, x *parsing.Explaining) ([]parsing.Form, error) {
	return parsing.Forms(bsonx.NewDoc("$graphLookup", x.Arguments(x.Spec.Doc(), "=from", "=as",
		"=connectToField", "=connectFromField", "startWith", "=depthField", "=maxDepth",
		"=restrictSearchWithMatch"))), nil
}

// Fuse returns the stage merged with the following $unwind of its array.
func (g *graphLookup) Fuse(u *unwind.Stage) (parsing.Stage, bool) {
	if g.Unwind != nil || !takesApart(u, g.As) {
		return nil, false
	}
	joined := *g
	joined.Unwind = u
	return &joined, true
}
