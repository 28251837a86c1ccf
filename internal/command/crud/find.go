package crud

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/explain"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/table"
)

// FindCommands returns the definition of find.
func FindCommands() []command.Definition {
	return []command.Definition{{
		Name: "find", ByUUID: true, NoUUIDInExplain: true, Help: "Returns the documents that match a filter.",
		Properties: command.Properties{
			Writes: feature.No, Transactions: feature.Yes, StableAPI: feature.Yes, Expendable: feature.Yes,
			Secret: feature.No, AdminOnly: feature.No,
		},
		Run: runFind, Explain: explainRead(explainFind, findStages),
		Read: true, TimedRead: true, Snapshot: true, Kind: "query",
		Latency: table.LatencyReads, Traffic: table.TrafficQueries,
		Counter: command.CountQuery, Fields: findFields,
	}}
}

var findFields = []command.Field{
	{Name: "filter", Type: command.OwnedObject},
	{Name: "projection", Type: command.OwnedObject},
	{Name: "sort", Type: command.OwnedObject},
	{Name: "hint", Type: command.Any},
	{Name: "skip", Type: command.SafeInt, Check: command.AtLeast(0)},
	{Name: "limit", Type: command.SafeInt, Check: command.AtLeast(0)},
	{Name: "batchSize", Type: command.SafeInt, Check: command.AtLeast(0)},
	{Name: "ntoreturn", Type: command.SafeInt, Check: command.AtLeast(0)},
	{Name: "singleBatch", Type: command.OptionalBool},
	{Name: "allowDiskUse", Type: command.OptionalBool},
	{Name: "min", Type: command.OwnedObject, Unstable: true},
	{Name: "max", Type: command.OwnedObject, Unstable: true},
	{Name: "returnKey", Type: command.OptionalBool, Unstable: true},
	{Name: "showRecordId", Type: command.OptionalBool, Unstable: true},
	{Name: "tailable", Type: command.OptionalBool, Unstable: true},
	{Name: "oplogReplay", Type: command.OptionalBool, Unstable: true},
	{Name: "noCursorTimeout", Type: command.OptionalBool, Unstable: true},
	{Name: "awaitData", Type: command.OptionalBool, Unstable: true},
	{Name: "allowPartialResults", Type: command.OptionalBool},
	{Name: "let", Type: command.Object},
	{Name: "options", Type: command.SafeInt},
	{Name: "term", Type: command.SafeInt, Unstable: true},
	{Name: "readOnce", Type: command.OptionalBool, Unstable: true},
	{Name: "collation", Type: command.OwnedObject},
	encryptionInformation,
	command.CollectionUUID,
}

func runFind(ctx context.Context, req *command.Request, reply *bsonx.Builder) error {
	name, err := readCollection(req)
	if err != nil {
		return err
	}
	c, err := req.Lookup(name)
	if err != nil {
		return err
	}
	if read.IsView(c) {
		return findOnView(ctx, req, name, reply)
	}
	run := req.Memory.TakeFind()
	if err := findQuery(req, name, c, &run.Query); err != nil {
		return err
	}
	if err := run.Source.Open(ctx, req.Reads(), &run.Query); err != nil {
		return err
	}
	cursor := &run.Cursor
	cursor.Source, cursor.DB, cursor.Collection, cursor.NoTimeout = &run.Source, req.DB,
		name, req.Bool("noCursorTimeout")
	cursor.Plan = run.Source.Run
	b := read.Batch{
		Req: req, Cursor: cursor, Field: "firstBatch", During: read.DuringFind,
		Size:   req.Int64("batchSize", limits.FirstBatch),
		Single: req.Bool("singleBatch") || c == nil, // a collection that does not exist has no further batch
		Source: &run.Source, EndsUnread: true,
	}
	if run.Query.Tailable {
		cursor.Tailable, cursor.AwaitData = true, req.Bool("awaitData")
		b.StaysOpen = run.Source.StaysOpen
	}
	if err := b.First(ctx, reply); err != nil {
		return err
	}
	if cursor.ID() == 0 {
		req.Memory.GiveFind(run)
	}
	return nil
}

// findQuery compiles the arguments of a find command into q. q must be empty.
func findQuery(req *command.Request, name string, c *table.Collection, q *query.Query) error {
	q.DB, q.Name, q.Coll, q.AllowDiskUse = req.DB, name, c, true
	a := findArgs{query: q}
	for i := range req.RawArgs {
		a.set(&req.RawArgs[i])
	}
	if err := a.check(req); err != nil {
		return err
	}
	sc, err := command.NewScope(req)
	if err != nil {
		return err
	}
	if !a.collation.IsMissing() || c != nil && c.Collation != nil {
		if sc, err = sc.Collated(a.collation, c); err != nil {
			return err
		}
		q.Collation, q.CollationSpec = sc.Collation, read.SpecOf(a.collation)
	}
	if q.Filter, err = sc.FilterOrAll(a.filter); err != nil {
		return sc.FirstMistake(a.filter, q.ProjectionSpec, err)
	}
	if q.Projection, err = sc.Projection(q.ProjectionSpec, q.Filter); err != nil {
		return err
	}
	if err := q.CheckMeta(); err != nil {
		return err
	}
	return q.CheckTailable()
}

// findArgs collects the arguments of a find that define its query. One pass over the arguments is
// faster than a look-up of each possible argument, because most finds have few.
type findArgs struct {
	query     *query.Query
	filter    bsonx.Doc
	collation bsonx.Value
	ntoreturn bool
	awaitData bool
}

func (a *findArgs) set(arg *bsonx.Elem) {
	q, v := a.query, arg.Value
	switch string(arg.Key) {
	case "filter":
		a.filter = v.Doc()
	case "projection":
		q.ProjectionSpec = v.Doc()
	case "sort":
		q.Sort = v.Doc()
	case "hint":
		q.Hint = v
	case "skip":
		q.Skip = bsonx.SaturatingInt64(v)
	case "limit":
		q.Limit = bsonx.SaturatingInt64(v)
	case "min":
		if q.Min = v.Doc(); q.Min.IsEmpty() {
			q.Min = nil
		}
	case "max":
		if q.Max = v.Doc(); q.Max.IsEmpty() {
			q.Max = nil
		}
	case "returnKey":
		q.ReturnKey = v.Truthy()
	case "showRecordId":
		q.ShowRecordID = v.Truthy()
	case "allowDiskUse":
		q.AllowDiskUse = v.Truthy()
	case "tailable":
		q.Tailable = v.Truthy()
	case "awaitData":
		a.awaitData = v.Truthy()
	case "collation":
		a.collation = v
	case "ntoreturn":
		a.ntoreturn = true
	}
}

// check returns an error for options that contradict each other or that the request does not allow.
func (a *findArgs) check(req *command.Request) error {
	q := a.query
	if err := read.CheckHint(q.Hint); err != nil {
		return err
	}
	if q.Sort != nil {
		if err := CheckSort(q.Sort); err != nil {
			return err
		}
	}
	switch {
	case a.ntoreturn:
		return mongoerr.New(mongoerr.BadValue, "'ntoreturn' field is not allowed in a find command")
	case req.Work != nil && q.Tailable:
		return mongoerr.New(mongoerr.InvalidOptions, "It is illegal to open a tailable cursor in a transaction")
	case q.Tailable || a.awaitData:
		return checkTailable(req)
	default:
		return nil
	}
}

// checkTailable returns an error if the options of a find do not allow a tailable cursor.
func checkTailable(req *command.Request) error {
	sort := req.Doc("sort")
	direction, _ := sort.Lookup("$natural").AsInt64()
	switch {
	case req.Bool("awaitData") && !req.Bool("tailable"):
		return mongoerr.New(mongoerr.FailedToParse, "Cannot set 'awaitData' without also setting 'tailable'")
	case !req.Bool("tailable"):
		return nil
	case !sort.IsEmpty() && (sort.Len() != 1 || direction != 1):
		return mongoerr.New(mongoerr.BadValue, "cannot use tailable option with a sort other than {$natural: 1}")
	case req.Bool("singleBatch"):
		return mongoerr.New(mongoerr.BadValue, "cannot use tailable option with the 'singleBatch' option")
	}
	return nil
}

func explainFind(req *command.Request) (*explain.Request, error) {
	if _, err := readCollection(req); err != nil {
		return nil, err
	}
	name, c, err := readable(req)
	if err != nil {
		return nil, err
	}
	q := new(query.Query)
	err = findQuery(req, name, c, q)
	return &explain.Request{Query: q, Command: explain.Find}, err
}
