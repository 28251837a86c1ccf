package ddl

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/js"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/oplog"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/table"
)

// checkViewPipeline checks the pipeline of a view's definition.
func checkViewPipeline(r *command.Request, name string, stages bsonx.Value) error {
	// A constant expression that fails is not an error here; it fails when the view is read.
	running := &interrupt.Running{}
	running.Set(r.Op)
	vars := expressions.Scope().WithFailures(&expr.Failures{}).WithScripts(js.Options{Running: running})
	if r.Service.Replicates() {
		vars = vars.WithClusterTime(func() bsonx.Value { return oplog.Timestamp(r.Service.Order.Visible()) })
	}
	if r.Generic.APIStrict == command.BoolTrue {
		vars = vars.WithStableAPI()
	}
	_, err := (read.Scope{Now: r.Now, Vars: vars}).ParsePipeline(r.DB, stages, parsing.OverCollection)
	if err != nil {
		return err
	}
	for i, stage := range stages.Doc().Values() {
		def := pipeline.Find(string(stage.Doc().First().Key))
		if def.Views == feature.Yes {
			continue
		}
		return mongoerr.New(mongoerr.OptionNotSupportedOnView,
			"The aggregation stage %s in location %d of the pipeline cannot be used in the view definition of %s.%s because it writes to disk",
			def.Name, i, r.DB, name)
	}
	return nil
}

// checkViewGraph returns an error if the new definition would make the view read itself, read
// through too many other views, or read a view with another collation.
func checkViewGraph(s *command.Service, db, name, on string, stages bsonx.Value, co *collation.Collator) error {
	g := viewGraph{views: s.Store.Catalog().View(), db: db, name: name, collation: co, seen: map[string]bool{}}
	return g.visit(on, stages, 1)
}

// viewGraph is the state of a walk over the views that a view reads.
type viewGraph struct {
	views    table.CatalogView // one catalog version, so that a cycle is not made up of views that never existed together
	db, name string
	// collation is the collation of the view. All views that it reads must have the same.
	collation *collation.Collator
	seen      map[string]bool
}

// visit checks the view with the name on, and the views that the pipeline stages reads,
// recursively.
func (g *viewGraph) visit(on string, stages bsonx.Value, depth int) error {
	if depth > limits.ViewDepth {
		return mongoerr.New(mongoerr.ViewDepthLimitExceeded,
			"View depth limit exceeded; maximum depth is %d", limits.ViewDepth)
	}
	for _, name := range append(pipeline.Collections(stages), on) {
		if name == g.name {
			return mongoerr.New(mongoerr.GraphContainsCycle, "View cycle detected: %s.%s", g.db, g.name)
		}
		entry := g.views.Lookup(g.db, name)
		if entry == nil || entry.Kind != catalog.KindView || g.seen[name] && name != on {
			continue
		}
		c := entry.Attached
		if !c.Collation.Same(g.collation) {
			return mongoerr.New(mongoerr.OptionNotSupportedOnView,
				"View %s.%s has conflicting collation with view %s", g.db, g.name, c.Namespace())
		}
		g.seen[name] = true
		if err := g.visit(c.Options.Lookup("viewOn").Str(), c.Options.Lookup("pipeline"), depth+1); err != nil {
			return err
		}
	}
	return nil
}
