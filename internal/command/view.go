package command

import (
	"context"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/js"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/plan"
	"github.com/sheafdb/sheaf/internal/table"
)

// A find, count or distinct on a view becomes a pipeline behind the view's own.

// isView reports whether c, which may be nil, is a view, as time-series collections are.
func isView(c *table.Collection) bool { return c != nil && c.Kind != catalog.KindCollection }

// findOnView runs a find command on a view.
func findOnView(ctx context.Context, req *Request, name string, reply *bsonx.Builder) error {
	sc, stages, err := findStages(req, name)
	if err != nil {
		return err
	}
	return req.runStages(ctx, sc, name, ownStages{list: stages}, req.Int64("batchSize", defaultFirstBatch), reply)
}

// findStages returns the stages that a find command on a view is. A sort by $natural is a hint in the scope.
func findStages(req *Request, name string) (scope, []bsonx.Value, error) {
	var q plan.Query
	if err := findQuery(req, name, nil, &q); err != nil {
		return scope{}, nil, err
	}
	if err := checkViewOptions(req, &q); err != nil {
		return scope{}, nil, err
	}
	sc, err := newScope(req)
	if err != nil {
		return scope{}, nil, err
	}
	if sc, err = sc.collated(req.Get("collation"), req.Service.Store.Lookup(req.DB, name)); err != nil {
		return scope{}, nil, err
	}
	stages := appendStage(nil, "$match", req.Doc("filter"))
	if sc.hint, err = plan.NaturalHint(q.Sort, req.Get("hint")); err != nil {
		return scope{}, nil, err
	}
	if sc.hint.IsMissing() {
		stages = appendStage(stages, "$sort", req.Doc("sort"))
	}
	if n := req.Int64("skip", 0); n > 0 {
		stages = append(stages, bsonx.Document(bsonx.NewDoc("$skip", n)))
	}
	if n := req.Int64("limit", 0); n > 0 {
		stages = append(stages, bsonx.Document(bsonx.NewDoc("$limit", n)))
	}
	return sc, appendStage(stages, "$project", req.Doc("projection")), nil
}

// checkViewOptions refuses the options of a find that a pipeline does not have. A single batch of one document is all that there
// is.
func checkViewOptions(req *Request, q *plan.Query) error {
	virtual := isVirtual(req.Service.Store.Lookup(req.DB, q.Name))
	for _, option := range []struct {
		name  string
		given bool
	}{
		{"min", q.Min != nil},
		{"max", q.Max != nil},
		{"returnKey", q.ReturnKey},
		{"showRecordId", q.ShowRecordID},
		{"tailable", q.Tailable},
		{"noCursorTimeout", req.Bool("noCursorTimeout") && !virtual}, // export tools set it
		{"singleBatch", req.Bool("singleBatch") && q.Limit != 1},
		{"readOnce", req.Bool("readOnce")},
	} {
		switch {
		case option.given && option.name == "tailable":
			return mongoerr.New(mongoerr.InvalidPipelineOperator, "Tailable cursors are not supported in aggregation.")
		case option.given:
			return mongoerr.New(mongoerr.InvalidPipelineOperator, "Option %s not supported in aggregation.", option.name)
		}
	}
	return nil
}

// appendStage adds a stage whose argument is not empty.
func appendStage(stages []bsonx.Value, name string, arg bsonx.Doc) []bsonx.Value {
	if arg.IsEmpty() {
		return stages
	}
	return append(stages, bsonx.Document(bsonx.NewDoc(name, arg)))
}

// countGroup is the $group that counts documents.
var countGroup = bsonx.NewDoc("_id", bsonx.Null, "n", bsonx.NewDoc("$sum", 1))

// countOnView counts the documents of a view.
func countOnView(ctx context.Context, req *Request, name string) (int64, error) {
	sc, stages, err := countStages(req, name)
	if err != nil {
		return 0, err
	}
	src, err := req.openStages(ctx, sc, name, ownStages{list: appendStage(stages, "$group", countGroup)})
	if err != nil {
		return 0, err
	}
	defer src.Close()
	doc, err := src.Next(ctx)
	if err != nil || doc == nil {
		return 0, executing(duringAggregate, req.DB, name, err)
	}
	n, _ := doc.Lookup("n").AsInt64()
	return n, nil
}

// countStages returns the stages whose documents a count command on a view counts.
func countStages(req *Request, name string) (scope, []bsonx.Value, error) {
	sc, err := newScope(req)
	if err != nil {
		return scope{}, nil, err
	}
	if sc, err = sc.collated(req.Get("collation"), req.Service.Store.Lookup(req.DB, name)); err != nil {
		return scope{}, nil, err
	}
	q, err := countQuery(req, name, nil)
	if err != nil {
		return scope{}, nil, err
	}
	stages := appendStage(nil, "$match", req.Doc("query"))
	if q.Skip > 0 {
		stages = append(stages, bsonx.Document(bsonx.NewDoc("$skip", q.Skip)))
	}
	if req.Has("limit") { // where it is 0, the stage refuses it
		stages = append(stages, bsonx.Document(bsonx.NewDoc("$limit", q.Limit)))
	}
	return sc, stages, nil
}

// distinctOnView returns the distinct values in a view. Arrays on the path are unwound, as a distinct on a collection
// goes through them.
func distinctOnView(ctx context.Context, req *Request, name string) (bsonx.Value, error) {
	sc, stages, err := distinctStages(req, name)
	if err != nil {
		return bsonx.Missing, err
	}
	src, err := req.openStages(ctx, sc, name, ownStages{list: stages})
	if err != nil {
		return bsonx.Missing, err
	}
	defer src.Close()
	doc, err := src.Next(ctx)
	if err != nil || doc == nil {
		return bsonx.NewArray(), executing(duringAggregate, req.DB, name, err)
	}
	return doc.Lookup("distinct").Clone(), nil
}

// distinctStages returns the stages that a distinct command on a view is.
func distinctStages(req *Request, name string) (scope, []bsonx.Value, error) {
	if _, err := hintedQuery(req, name, nil); err != nil {
		return scope{}, nil, err
	}
	sc, err := newScope(req)
	if err != nil {
		return scope{}, nil, err
	}
	if sc, err = sc.collated(req.Get("collation"), req.Service.Store.Lookup(req.DB, name)); err != nil {
		return scope{}, nil, err
	}
	key := req.String("key")
	path, err := expr.SplitFieldPath(key)
	if err != nil {
		return scope{}, nil, err
	}
	stages := appendStage(nil, "$match", req.Doc("query"))
	for i := range path {
		prefix := strings.Join(path[:i+1], ".")
		stages = appendStage(stages, "$unwind", bsonx.NewDoc("path", "$"+prefix, "preserveNullAndEmptyArrays", true))
		if i < len(path)-1 {
			stages = appendStage(stages, "$match", bsonx.NewDoc(prefix, bsonx.NewDoc("$type", "object")))
		}
	}
	stages = appendStage(stages, "$group", bsonx.NewDoc("_id", bsonx.Null, "distinct", bsonx.NewDoc("$addToSet", "$"+key)))
	return sc, stages, nil
}

// maxViewDepth is how many views may stand on each other.
const maxViewDepth = 20

// checkViewPipeline checks the stages of a view's definition.
func (r *Request) checkViewPipeline(name string, stages bsonx.Value) error {
	// An expression that fails is an error of the view's readers.
	running := &interrupt.Running{}
	running.Set(r.Op)
	vars := (*expr.Vars)(nil).WithFailures(&expr.Failures{}).WithScripts(js.Options{Running: running})
	if r.Service.replicates() {
		vars = vars.WithClusterTime(func() bsonx.Value { return timestamp(r.Service.order.Visible()) })
	}
	if r.Generic.APIStrict == boolTrue {
		vars = vars.WithStableAPI()
	}
	p, err := (scope{now: r.Now, vars: vars}).parsePipeline(r.DB, stages, pipeline.OverCollection)
	if err != nil {
		return err
	}
	if p.Writes() {
		at := stages.Doc().Len() - 1
		return mongoerr.New(mongoerr.OptionNotSupportedOnView,
			"The aggregation stage %s in location %d of the pipeline cannot be used in the view definition of %s.%s because it writes to disk",
			stages.Doc().Index(at).Doc().First().Key, at, r.DB, name)
	}
	return nil
}

// checkViewGraph refuses a view that would read itself, or through too many others, or views with another collation.
func (s *Service) checkViewGraph(db, name, on string, stages bsonx.Value, co *collation.Collator) error {
	g := viewGraph{views: s.Store.Catalog().View(), db: db, name: name, collation: co, seen: map[string]bool{}}
	return g.visit(on, stages, 1)
}

// viewGraph is a walk through what a view reads.
type viewGraph struct {
	views    catalog.View // of one moment: else what is a cycle there may never have been one
	db, name string
	// collation is that of the view, which those that it reads must have too.
	collation *collation.Collator
	seen      map[string]bool
}

// visit walks from a view that reads on and what its stages name.
func (g *viewGraph) visit(on string, stages bsonx.Value, depth int) error {
	if depth > maxViewDepth {
		return mongoerr.New(mongoerr.ViewDepthLimitExceeded, "View depth limit exceeded; maximum depth is %d", maxViewDepth)
	}
	for _, name := range append(namedCollections(nil, stages), on) {
		if name == g.name {
			return mongoerr.New(mongoerr.GraphContainsCycle, "View cycle detected: %s.%s", g.db, g.name)
		}
		entry := g.views.Lookup(g.db, name)
		if entry == nil || entry.Kind != catalog.KindView || g.seen[name] && name != on {
			continue
		}
		c := entry.Attached.(*table.Collection)
		if !c.Collation.Same(g.collation) {
			return mongoerr.New(mongoerr.OptionNotSupportedOnView, "View %s.%s has conflicting collation with view %s", g.db, g.name, c.Namespace())
		}
		g.seen[name] = true
		if err := g.visit(c.Options.Lookup("viewOn").Str(), c.Options.Lookup("pipeline"), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// namedCollections appends the collections that stages read, also those of their sub-pipelines.
func namedCollections(dst []string, stages bsonx.Value) []string {
	if stages.Type != bsonx.TypeArray {
		return dst
	}
	for it := stages.Doc().Iter(); it.Next(); {
		if it.Value().Type != bsonx.TypeDocument || it.Value().Doc().IsEmpty() {
			continue
		}
		stage := it.Value().Doc().First()
		switch string(stage.Key) {
		case "$lookup", "$graphLookup", "$unionWith":
			dst = appendNamed(dst, stage.Value)
		case "$facet":
			for _, sub := range elements(stage.Value) {
				dst = namedCollections(dst, sub)
			}
		}
	}
	return dst
}

func appendNamed(dst []string, arg bsonx.Value) []string {
	if arg.Type == bsonx.TypeString {
		return append(dst, arg.Str())
	}
	for _, field := range []string{"from", "coll"} {
		if v := arg.Doc().Lookup(field); v.Type == bsonx.TypeString {
			dst = append(dst, v.Str())
		}
	}
	return namedCollections(dst, arg.Doc().Lookup("pipeline"))
}
