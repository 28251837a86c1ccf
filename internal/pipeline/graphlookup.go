package pipeline

import (
	"context"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// graphLookup is $graphLookup: it follows references from document to document, breadth first.
type graphLookup struct {
	db, from   string
	as         []string
	start      expr.Expr
	connect    []string // connectFromField
	connectTo  string
	depthField []string // nil where none is asked for
	maxDepth   int64    // negative without a limit
	restrict   bsonx.Doc
	opts       Options
}

func parseGraphLookup(arg bsonx.Value, opts Options) ([]stage, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(mongoerr.FailedToParse, "the $graphLookup stage specification must be an object, but found %s", arg.Type)
	}
	from := arg.Doc().Lookup("from")
	if from.IsMissing() {
		return nil, mongoerr.New(mongoerr.FailedToParse, "missing 'from' option to $graphLookup stage specification: %s", expr.Show(arg))
	}
	if from.Type != bsonx.TypeString {
		return nil, mongoerr.New(mongoerr.FailedToParse, "$graphLookup 'from' field must be a string, but found %s", from.Type)
	}
	g := &graphLookup{db: opts.DB, from: from.Str(), maxDepth: -1, opts: opts}
	if g.from == "" {
		return nil, mongoerr.New(mongoerr.InvalidNamespace, "invalid $graphLookup namespace: %s.", opts.DB)
	}
	for it := arg.Doc().Iter(); it.Next(); {
		if err := g.set(string(it.Key()), it.Value()); err != nil {
			return nil, err
		}
	}
	if g.as == nil || g.start == nil || g.connect == nil || g.connectTo == "" {
		return nil, mongoerr.New(40105, "$graphLookup requires 'from', 'as', 'startWith', 'connectFromField', and 'connectToField' to be specified.")
	}
	return []stage{g}, nil
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
		_, err := filter.Parse(g.restrict, filter.Options{Vars: g.opts.Vars.WithFailures(&expr.Failures{}), Now: g.opts.Now, AllowExpr: true, Collation: g.opts.Collation})
		return err
	case "from":
		return nil
	case "as", "connectFromField", "connectToField", "depthField":
	default:
		return mongoerr.New(40104, "Unknown argument to $graphLookup: %s", name)
	}
	if v.Type != bsonx.TypeString {
		return mongoerr.New(40103, "expected string as argument for %s, found: %s", name, expr.Show(v))
	}
	path, err := expr.SplitFieldPath(v.Str())
	switch name {
	case "as":
		g.as = path
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
		return mongoerr.New(40101, "maxDepth requires a nonnegative argument, found: %s", expr.Show(v))
	}
	if !ok {
		return mongoerr.New(40102, "maxDepth could not be represented as a long long: %s", expr.Show(v))
	}
	g.maxDepth = n
	return nil
}

func (g *graphLookup) open(src Source, env *Env) Source {
	s := &graphSource{input: input{src}, graph: g, limit: env.memoryLimit(), ctx: expr.Context{Now: g.opts.Now}}
	// Null finds documents with a null, not those without the field.
	predicates := []bsonx.Value{bsonx.Document(bsonx.NewDoc(g.connectTo, bsonx.NewDoc("$exists", true)))}
	if !g.restrict.IsEmpty() {
		predicates = append(predicates, bsonx.Document(g.restrict))
	}
	s.foreign = foreignField{
		db: g.db, name: g.from, path: g.connectTo, opts: g.opts, env: env,
		before: []bsonx.Value{bsonx.Document(bsonx.NewDoc("$match", bsonx.NewDoc("$and", predicates)))},
	}
	return s
}

type graphSource struct {
	input
	graph   *graphLookup
	limit   int
	ctx     expr.Context
	foreign foreignField
	search  graphSearch
}

// Close implements Source.
func (s *graphSource) Close() {
	s.foreign.close()
	s.input.Close()
}

// graphSearch is the search for one document.
type graphSearch struct {
	found    *bsonx.Builder
	visited  map[string]bool // the _ids of the documents that were found
	seen     map[string]bool // the values that were searched for, or will be
	frontier []bsonx.Value   // what is searched for next
	bytes    int
	key      []byte
}

// Next implements Source.
func (s *graphSource) Next(ctx context.Context) (bsonx.Doc, error) {
	doc, err := s.src.Next(ctx)
	if err != nil || doc == nil {
		return nil, err
	}
	s.ctx.Root = bsonx.Document(doc)
	start, err := s.graph.start.Eval(&s.ctx)
	if err != nil {
		return nil, err
	}
	s.search = graphSearch{found: bsonx.NewBuilder(nil), visited: map[string]bool{}, seen: map[string]bool{}}
	s.search.found.StartArray()
	visitValues(start, nil, s.search.reach)
	if err := s.walk(ctx); err != nil {
		return nil, err
	}
	s.search.found.End()
	return setPath(doc, s.graph.as, bsonx.Array(s.search.found.Bytes())), nil
}

// graphBatch is how many values one query searches for.
const graphBatch = 1000

// walk searches level by level until there is nothing new.
func (s *graphSource) walk(ctx context.Context) error {
	g := &s.search
	for depth := int64(0); len(g.frontier) > 0 && (s.graph.maxDepth < 0 || depth <= s.graph.maxDepth); depth++ {
		level := g.frontier
		g.frontier = nil
		for values := range slices.Chunk(level, graphBatch) {
			err := s.foreign.each(ctx, values, func(doc bsonx.Doc) error { return s.visit(doc, depth) })
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// visit takes a document that was found, for the first time or again.
func (s *graphSource) visit(doc bsonx.Doc, depth int64) error {
	g := &s.search
	id := doc.Lookup("_id")
	if id.IsMissing() {
		return mongoerr.New(40271, "Documents in the '%s.%s' namespace must contain an _id for de-duplication in $graphLookup", s.graph.db, s.graph.from)
	}
	g.key = appendGroupKey(g.key[:0], id)
	if g.visited[string(g.key)] {
		return nil
	}
	g.visited[string(g.key)] = true
	g.bytes += len(g.key) + len(doc) + entryBytes
	visitValues(bsonx.Document(doc), s.graph.connect, g.reach)
	if g.bytes > s.limit {
		return mongoerr.New(40099, "$graphLookup reached maximum memory consumption")
	}
	if s.graph.depthField != nil {
		doc = setPath(doc, s.graph.depthField, bsonx.Int64(depth))
	}
	g.found.Elem(bsonx.Document(doc))
	return nil
}

// reach adds a value to the next level, unless it was searched for.
func (g *graphSearch) reach(v bsonx.Value) {
	g.key = appendGroupKey(g.key[:0], v)
	if g.seen[string(g.key)] {
		return
	}
	g.seen[string(g.key)] = true
	g.frontier = append(g.frontier, v.Clone())
	g.bytes += len(g.key) + len(v.Data) + entryBytes
}
