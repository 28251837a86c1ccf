package command

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan"
	"github.com/sheafdb/sheaf/internal/table"
)

func findCommands() []Definition {
	return []Definition{{
		Name: "find", ByUUID: true, Help: "Returns the documents that match a filter.",
		InTransaction: true, Run: runFind, Read: true, TimedRead: true, Snapshot: true, API1: true, Kind: "query", Counter: CountQuery, Fields: findFields,
	}}
}

var findFields = []Field{
	{Name: "filter", Type: OwnedObject},
	{Name: "projection", Type: OwnedObject},
	{Name: "sort", Type: OwnedObject},
	{Name: "hint", Type: Any},
	{Name: "skip", Type: SafeInt, Check: AtLeast(0)},
	{Name: "limit", Type: SafeInt, Check: AtLeast(0)},
	{Name: "batchSize", Type: SafeInt, Check: AtLeast(0)},
	{Name: "ntoreturn", Type: SafeInt, Check: AtLeast(0)},
	{Name: "singleBatch", Type: OptionalBool},
	{Name: "allowDiskUse", Type: OptionalBool},
	{Name: "min", Type: OwnedObject, Unstable: true},
	{Name: "max", Type: OwnedObject, Unstable: true},
	{Name: "returnKey", Type: OptionalBool, Unstable: true},
	{Name: "showRecordId", Type: OptionalBool, Unstable: true},
	{Name: "tailable", Type: OptionalBool, Unstable: true},
	{Name: "oplogReplay", Type: OptionalBool, Unstable: true},
	{Name: "noCursorTimeout", Type: OptionalBool, Unstable: true},
	{Name: "awaitData", Type: OptionalBool, Unstable: true},
	{Name: "allowPartialResults", Type: OptionalBool},
	{Name: "let", Type: Object},
	{Name: "options", Type: SafeInt},
	{Name: "term", Type: SafeInt, Unstable: true},
	{Name: "readOnce", Type: OptionalBool, Unstable: true},
	{Name: "collation", Type: OwnedObject},
	encryptionInformation,
	collectionUUID,
}

func runFind(ctx context.Context, req *Request, reply *bsonx.Builder) error {
	name, err := req.readCollection()
	if err != nil {
		return err
	}
	c, err := req.lookup(name)
	if err != nil {
		return err
	}
	if isView(c) {
		return findOnView(ctx, req, name, reply)
	}
	run := req.memory.takeFind()
	if err := findQuery(req, name, c, &run.query); err != nil {
		return err
	}
	if err := run.source.open(ctx, req.reads(), &run.query); err != nil {
		return err
	}
	cursor := &run.cursor
	cursor.Source, cursor.DB, cursor.Collection, cursor.NoTimeout = &run.source, req.DB, name, req.Bool("noCursorTimeout")
	cursor.Plan = run.source.run
	b := batch{
		req: req, cursor: cursor, field: "firstBatch", during: duringFind,
		size:   req.Int64("batchSize", defaultFirstBatch),
		single: req.Bool("singleBatch") || c == nil, // where nothing is, nothing more will come
		source: &run.source, endsUnread: true,
	}
	if run.query.Tailable {
		cursor.Tailable, cursor.AwaitData = true, req.Bool("awaitData")
		b.staysOpen = run.source.staysOpen
	}
	if err := b.first(ctx, reply); err != nil {
		return err
	}
	if cursor.ID() == 0 {
		req.memory.giveFind(run)
	}
	return nil
}

// findQuery compiles what a find command asks for into q, which is empty.
func findQuery(req *Request, name string, c *table.Collection, q *plan.Query) error {
	q.DB, q.Name, q.Coll, q.AllowDiskUse = req.DB, name, c, true
	a := findArgs{query: q}
	for i := range req.args {
		a.set(&req.args[i])
	}
	if err := a.check(req); err != nil {
		return err
	}
	sc, err := newScope(req)
	if err != nil {
		return err
	}
	if !a.collation.IsMissing() || c != nil && c.Collation != nil {
		if sc, err = sc.collated(a.collation, c); err != nil {
			return err
		}
		q.Collation, q.CollationSpec = sc.collation, specOf(a.collation)
	}
	if q.Filter, err = sc.filterOrAll(a.filter); err != nil {
		return sc.firstMistake(a.filter, q.ProjectionSpec, err)
	}
	if q.Projection, err = sc.projection(q.ProjectionSpec, q.Filter); err != nil {
		return err
	}
	if err := q.CheckMeta(); err != nil {
		return err
	}
	return q.CheckTailable()
}

// findArgs are the arguments of a find that say what to look for. They are read in one pass: most finds have few of the
// many that there are.
type findArgs struct {
	query     *plan.Query
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
		q.Skip = saturatingInt64(v)
	case "limit":
		q.Limit = saturatingInt64(v)
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

// check refuses options that do not go together or need what there is not.
func (a *findArgs) check(req *Request) error {
	q := a.query
	if err := checkHint(q.Hint); err != nil {
		return err
	}
	if q.Sort != nil {
		if err := checkSort(q.Sort); err != nil {
			return err
		}
	}
	switch {
	case a.ntoreturn:
		return mongoerr.New(mongoerr.BadValue, "'ntoreturn' field is not allowed in a find command")
	case req.work != nil && q.Tailable:
		return mongoerr.New(mongoerr.InvalidOptions, "It is illegal to open a tailable cursor in a transaction")
	case q.Tailable || a.awaitData:
		return checkTailable(req)
	default:
		return nil
	}
}
