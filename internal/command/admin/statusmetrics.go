package admin

import (
	"strings"
	"sync/atomic"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/table"
)

func (x *statusSample) statusMetrics(b *bsonx.Builder) {
	b.StartDocField("commands")
	b.Int64("<UNKNOWN>", x.Stats.UnknownCommands.Load())
	for _, e := range x.Commands.All {
		if e.Status != feature.Supported || e.Hidden {
			continue
		}
		b.StartDocField(e.Name)
		b.Int64("failed", e.Failures.Load())
		b.Int64("total", x.Stats.Sum(func(t *command.Tally) *atomic.Int64 { return &t.Runs[e.Index] }))
		b.End()
	}
	b.End()
	x.Read.Operators.Status(b)
	c := x.Cursors.Stats()
	b.StartDocField("cursor")
	b.Int64("moreThanOneBatch", c.MoreThanOneBatch)
	b.Int64("timedOut", c.TimedOut)
	b.Int64("totalOpened", c.Opened)
	b.StartDocField("open")
	b.Int64("noTimeout", int64(c.NoTimeout))
	b.Int64("pinned", int64(c.Pinned))
	b.Int64("total", int64(c.Open))
	b.End()
	b.End()
	x.statusWork(b)
	// moves is always 0, because a document never moves: its key determines its place.
	b.Doc("record", bsonx.NewDoc("moves", int64(0)))
	if x.Replicates() {
		appendReplMetrics(b)
	}
	statusTTL(x.Service, b)
}

// appendReplMetrics appends metrics.repl. All its counters are 0, because the set has no other
// member to replicate from.
func appendReplMetrics(b *bsonx.Builder) {
	none := bsonx.NewDoc("num", int32(0), "totalMillis", int32(0))
	b.Doc("repl", bsonx.NewDoc(
		"apply", bsonx.NewDoc("batches", none, "ops", int64(0)),
		"buffer", bsonx.NewDoc("count", int64(0), "sizeBytes", int64(0)),
		"network", bsonx.NewDoc("bytes", int64(0), "getmores", none, "ops", int64(0), "readersCreated", int64(0)),
	))
}

// statusOpcountersRepl appends the counters of operations that were applied from another member's
// oplog. They are always 0.
func statusOpcountersRepl(b *bsonx.Builder) {
	for _, name := range [...]string{"insert", "query", "update", "delete", "getmore", "command"} {
		b.Int64(name, 0)
	}
}

func (x *statusSample) statusPlanCache(b *bsonx.Builder) {
	if x.Planner == nil {
		return
	}
	st := x.Planner.CacheStats()
	b.Int64("totalQueryShapes", st.Shapes)
	b.Int64("totalSizeEstimateBytes", st.Bytes)
	b.Doc("classic", bsonx.NewDoc("hits", st.Hits, "misses", st.Misses, "replanned", st.Replans))
}

// catalogCounts holds the counters of the section catalogStats of serverStatus.
type catalogCounts struct {
	collections, capped, clustered, timeseries, views, internalCollections, internalViews int64
}

func (c *catalogCounts) add(e *table.Entry) {
	internal := catalog.IsInternalDatabase(e.DB)
	switch {
	case e.Kind == catalog.KindTimeseries:
		c.timeseries++
		return
	case e.Kind == catalog.KindView && internal:
		c.internalViews++
		return
	case e.Kind == catalog.KindView:
		c.views++
		return
	case internal || strings.HasPrefix(e.Name, "system."):
		c.internalCollections++
		return
	}
	c.collections++
	if e.Options.Lookup("capped").Truthy() {
		c.capped++
	}
	if command.ClusteredOption(e.Options) != nil {
		c.clustered++
	}
}

// countCatalog counts the collections and views of all databases.
func countCatalog(s *command.Service) (c catalogCounts) {
	if s.Store == nil {
		return c
	}
	for _, e := range s.Store.Catalog().All() {
		c.add(e)
	}
	c.internalCollections += int64(len(s.Virtual))
	return c
}

func (x *statusSample) statusCatalog(b *bsonx.Builder) {
	c := x.walk()
	b.Int64("collections", c.collections)
	b.Int64("capped", c.capped)
	b.Int64("clustered", c.clustered)
	b.Int64("timeseries", c.timeseries)
	b.Int64("views", c.views)
	b.Int64("internalCollections", c.internalCollections)
	b.Int64("internalViews", c.internalViews)
}
