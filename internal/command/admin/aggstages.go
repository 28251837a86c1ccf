package admin

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
	"github.com/sheafdb/sheaf/internal/plan/cache"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/session"
	"github.com/sheafdb/sheaf/internal/table"
)

// reports generates the documents of the stages that describe the server, such as $collStats. A
// cursor may keep it after the request has ended.
type reports struct {
	read.Subject
	service *command.Service
}

// NewReports returns the source of the documents for the stages that describe the server. on is the
// collection and the client of the pipeline.
func NewReports(s *command.Service, on read.Subject) source.Diagnostics { return &reports{on, s} }

// collection returns the collection that the pipeline reads, or nil if it does not exist.
func (r *reports) collection() *table.Collection {
	if r.Name == "" {
		return nil
	}
	return r.service.Store.Lookup(r.DB, r.Name)
}

// CollStats implements source.Diagnostics.
func (r *reports) CollStats(ctx context.Context, arg bsonx.Doc) ([]bsonx.Doc, error) {
	c := r.collection()
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.String("ns", r.DB+"."+r.Name)
	b.String("host", r.service.HostAndPort())
	b.Date("localTime", r.Now.UnixMilli())
	if v := arg.Lookup("latencyStats"); !v.IsMissing() {
		appendLatencyStats(r.service, b, c, v.Doc().Lookup("histograms").Truthy())
	}
	for _, part := range []string{"storageStats", "count", "queryExecStats"} {
		v := arg.Lookup(part)
		if v.IsMissing() {
			continue
		}
		if err := r.collStatsPart(ctx, b, c, part, v.Doc()); err != nil {
			if ended := interrupt.Cause(ctx); ended != nil {
				return nil, ended
			}
			return nil, command.PrefixError(err, "Unable to retrieve %s in $collStats stage :: caused by :: ", part)
		}
	}
	b.End()
	return []bsonx.Doc{b.Bytes()}, nil
}

func (r *reports) collStatsPart(ctx context.Context, b *bsonx.Builder, c *table.Collection,
	part string, arg bsonx.Doc,
) error {
	if c == nil {
		return mongoerr.New(mongoerr.NamespaceNotFound, "Collection [%s.%s] not found.", r.DB, r.Name)
	}
	if read.IsView(c) && !read.IsVirtual(c) {
		return mongoerr.New(mongoerr.CommandNotSupportedOnView,
			"Namespace %s.%s is a view, not a collection", r.DB, r.Name)
	}
	switch part {
	case "count":
		if read.IsVirtual(c) {
			sz, err := r.service.VirtualSizes(c, r.Local)
			command.AppendNumber(b, part, sz.Count)
			return err
		}
		counter, err := r.service.Store.Count(c)
		if err != nil {
			return err
		}
		command.AppendNumber(b, part, counter.Count)
		return nil
	case "queryExecStats":
		total, tailable := c.Scans().Count()
		b.Doc(part, bsonx.NewDoc("collectionScans", bsonx.NewDoc("total", total, "nonTailable", total-tailable)))
		return nil
	}
	scale := int64(1)
	if v := arg.Lookup("scale"); v.Type.IsNumber() {
		scale = max(bsonx.SaturatingInt64(v), 1)
	}
	b.StartDocField(part)
	defer b.End()
	return appendStorageStats(ctx, r.service, b, c, scale, r.Local)
}

// IndexStats implements source.Diagnostics.
func (r *reports) IndexStats(context.Context, bsonx.Doc) ([]bsonx.Doc, error) {
	c := r.collection()
	if c == nil {
		return nil, nil
	}
	if read.IsView(c) {
		return nil, mongoerr.New(mongoerr.CommandNotSupportedOnView,
			"Namespace %s.%s is a view, not a collection", r.DB, r.Name)
	}
	if c.Timeseries != nil {
		var docs []bsonx.Doc
		for _, ix := range c.Indexes {
			if original := ix.Spec.Lookup(command.OriginalSpec); original.Type == bsonx.TypeDocument {
				docs = append(docs, r.indexStat(original.Doc(), ix.Uses(), ix.Ready))
			}
		}
		return docs, nil
	}
	spec := command.IDIndexOf(c.Options)
	if clustered := command.ClusteredIndexSpec(c.Options); clustered != nil {
		spec = clustered
	}
	var docs []bsonx.Doc
	if spec != nil {
		docs = append(docs, r.indexStat(spec, c.IDUses(), true))
	}
	for _, ix := range c.Indexes {
		docs = append(docs, r.indexStat(ix.Spec, ix.Uses(), ix.Ready))
	}
	return docs, nil
}

func (r *reports) indexStat(spec bsonx.Doc, uses *table.Uses, ready bool) bsonx.Doc {
	n, since := uses.Count()
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.Value("name", spec.Lookup("name"))
	b.Value("key", spec.Lookup("key"))
	b.String("host", r.service.HostAndPort())
	b.StartDocField("accesses")
	b.Int64("ops", n)
	b.Date("since", since.UnixMilli())
	b.End()
	if !ready {
		b.Bool("building", true)
	}
	b.Doc("spec", spec)
	b.End()
	return b.Bytes()
}

// PlanCacheStats implements source.Diagnostics.
func (r *reports) PlanCacheStats(context.Context, bsonx.Doc) ([]bsonx.Doc, error) {
	c := r.collection()
	if c == nil || read.IsView(c) {
		return nil, mongoerr.New(codeNoCollection, "collection '%s.%s' does not exist", r.DB, r.Name)
	}
	var docs []bsonx.Doc
	for _, e := range r.service.Planner.CachedPlans(c.ID) {
		docs = append(docs, r.cachedPlan(&e))
	}
	return docs, nil
}

func (r *reports) cachedPlan(e *cache.Entry) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.String("version", "1")
	b.String("queryHash", e.QueryHash)
	b.String("planCacheShapeHash", e.QueryHash)
	b.String("planCacheKey", e.PlanCacheKey)
	b.Bool("isActive", e.IsActive)
	b.Int64("works", int64(e.Works))
	b.Int64("reads", int64(e.Reads))
	b.Date("timeOfCreation", e.Made.UnixMilli())
	if e.Plan != nil {
		b.Doc("createdFromQuery", e.Query)
		b.Doc("cachedPlan", e.Plan)
		b.Value("creationExecStats", bsonx.ValueOf(e.CreationStats))
		b.StartArrayField("candidatePlanScores")
		for _, score := range e.Scores {
			b.Elem(bsonx.Double(score))
		}
		b.End()
	}
	b.Bool("indexFilterSet", false)
	b.Int64("estimatedSizeBytes", int64(e.Bytes))
	b.String("host", r.service.HostAndPort())
	b.End()
	return bsonx.Doc(b.Bytes())
}

// codeNoCollection is the error code of MongoDB for $planCacheStats on a collection that does not
// exist.
const codeNoCollection = mongoerr.Code(50933)

// CurrentOp implements source.Diagnostics.
func (r *reports) CurrentOp(_ context.Context, arg bsonx.Doc) ([]bsonx.Doc, error) {
	if r.DB != "admin" || r.Name != "" {
		return nil, mongoerr.New(mongoerr.InvalidNamespace, "$currentOp must be run against the 'admin' database with {aggregate: 1}")
	}
	var docs []bsonx.Doc
	sessions := arg.Lookup("idleSessions")
	for doc := range operationDocs(r.service, arg.Lookup("idleConnections").Truthy(),
		sessions.IsMissing() || sessions.Truthy()) {
		docs = append(docs, doc)
	}
	if arg.Lookup("idleCursors").Truthy() {
		docs = append(docs, idleCursorDocs(r.service)...)
	}
	return docs, nil
}

// ListLocalSessions implements source.Diagnostics.
func (r *reports) ListLocalSessions(_ context.Context, arg bsonx.Doc) ([]bsonx.Doc, error) {
	return r.sessions(arg), nil
}

// ListSessions implements source.Diagnostics.
func (r *reports) ListSessions(_ context.Context, arg bsonx.Doc) ([]bsonx.Doc, error) {
	if r.DB != "config" || r.Name != "system.sessions" {
		return nil, mongoerr.New(mongoerr.InvalidNamespace,
			"$listSessions may only be run against config.system.sessions")
	}
	return r.sessions(arg), nil
}

// sessions lists the sessions of the users in arg. By default these are the sessions of the user
// that runs the pipeline.
func (r *reports) sessions(arg bsonx.Doc) []bsonx.Doc {
	wanted := map[[32]byte]bool{}
	users := arg.Lookup("users").Doc().Values()
	for _, v := range users {
		name := v.Doc().Lookup("user").Str() + "@" + v.Doc().Lookup("db").Str()
		if name == "@" {
			name = "" // a client without authentication
		}
		wanted[command.UserDigest(name)] = true
	}
	if len(users) == 0 {
		wanted[r.User] = true
	}
	all := arg.Lookup("allUsers").Truthy()
	registry := r.service.Sessions
	return command.SessionDocs(registry,
		registry.All(func(id session.SessionID) bool { return all || wanted[id.User] }))
}
