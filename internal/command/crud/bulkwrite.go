package crud

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/retryable"
	"github.com/sheafdb/sheaf/internal/session"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/update"
	"github.com/sheafdb/sheaf/internal/write"
)

// BulkWriteCommands returns the definition of bulkWrite.
func BulkWriteCommands() []command.Definition {
	return []command.Definition{{
		Name: "bulkWrite", Help: "Runs inserts, updates and deletes on several collections.",
		Properties: command.Properties{
			Writes: feature.Yes, Transactions: feature.Yes, StableAPI: feature.Yes, Expendable: feature.Yes,
			Secret: feature.No, AdminOnly: feature.Yes,
		},
		Run: runBulkWrite, Parses: true, Retryable: true, Counter: command.CountNone,
		Latency: table.LatencyWrites,
		Fields: []command.Field{
			{
				Name: "ops", Type: command.Array, Required: true, Sequence: true,
				Fields: slices.Concat(bulkInsertFields, bulkUpdateFields, bulkDeleteFields),
			},
			{Name: "nsInfo", Type: command.Array, Required: true, Sequence: true, Fields: nsInfoFields},
			{Name: "ordered", Type: command.Bool},
			{Name: "bypassDocumentValidation", Type: command.SafeBool},
			{Name: "bypassEmptyTsReplacement", Type: command.OptionalBool},
			{Name: "errorsOnly", Type: command.Bool},
			{Name: "let", Type: command.Object},
			{Name: "cursor", Type: command.Object, Fields: command.CursorFields},
			{Name: "stmtId", Type: command.Int},
			{Name: "stmtIds", Type: command.Array},
		},
	}}
}

// bulkOp is one parsed operation of a bulkWrite.
type bulkOp struct {
	kind   command.BulkKind
	ns     command.Namespace
	space  int // index in nsInfo
	doc    bsonx.Doc
	update command.UpdateSpec
	delete deleteSpec
}

// The fields of an operation. The first field names the kind of operation. Its value is the index
// of the namespace in nsInfo.
var (
	bulkInsertFields = []command.Field{
		{Name: "insert", Type: command.SafeInt, Required: true, Check: checkSpace},
		{Name: "document", Type: command.Object, Required: true},
	}
	bulkUpdateFields = []command.Field{
		{Name: "update", Type: command.SafeInt, Required: true, Check: checkSpace},
		{Name: "filter", Type: command.Object, Required: true},
		{Name: "updateMods", Required: true, Check: checkModsAndStages},
		{Name: "multi", Type: command.Bool},
		{Name: "upsert", Type: command.Bool},
		{Name: "upsertSupplied", Type: command.OptionalBool},
		{Name: "arrayFilters", Type: command.Array},
		{Name: "hint", Check: checkFieldHint},
		{Name: "constants", Type: command.Object},
		{Name: "collation", Type: command.Object},
		{Name: "sort", Type: command.Object},
		{Name: "sampleId", Type: command.BinData},
	}
	bulkDeleteFields = []command.Field{
		{Name: "delete", Type: command.SafeInt, Required: true, Check: checkSpace},
		{Name: "filter", Type: command.Object, Required: true},
		{Name: "multi", Type: command.Bool},
		{Name: "hint", Check: checkFieldHint},
		{Name: "collation", Type: command.Object},
		{Name: "sampleId", Type: command.BinData},
	}
)

func runBulkWrite(ctx context.Context, req *command.Request, reply *bsonx.Builder) error {
	if _, err := req.ListBatch(); err != nil {
		return err
	}
	n := req.DocumentCount("ops")
	if err := checkBatch(n); err != nil {
		return req.Malformed(err)
	}
	spaces, err := parseNSInfo(req)
	if err != nil {
		return req.Malformed(err)
	}
	ops := make([]bulkOp, 0, n)
	err = req.Documents("ops", func(_ int, doc bsonx.Doc) error {
		op, err := parseBulkOp(doc, spaces)
		ops = append(ops, op)
		return err
	})
	if err != nil {
		return req.Malformed(err)
	}
	sc, err := command.NewScope(req)
	if err != nil && endsCommand(err) {
		return err
	}
	sc.Mistake = err
	if err := readStatements(req, n); err != nil {
		return err
	}
	run := bulkRun{req: req, scope: sc, opts: writeOptions(req), errorsOnly: req.Bool("errorsOnly"), shown: -1}
	req.Spaces = command.WrittenSpaces(spaces)
	for i := range ops {
		if err := run.one(ctx, i, &ops[i]); err != nil {
			return err
		}
		if run.errors > 0 && run.opts.Ordered {
			break
		}
	}
	if req.Generic.WriteConcern.Unacknowledged() {
		run.results = nil
	}
	return run.report(ctx, reply)
}

func parseNSInfo(req *command.Request) ([]command.Namespace, error) {
	var out []command.Namespace
	err := req.Documents("nsInfo", func(_ int, doc bsonx.Doc) error {
		var ns command.Namespace
		err := command.ParseFields("bulkWrite.nsInfo", doc, nsInfoFields, func(i int, v bsonx.Value) error {
			if nsInfoFields[i].Name == command.CollectionUUID.Name {
				ns.UUID = v
			}
			if nsInfoFields[i].Name != "ns" {
				return nil
			}
			var valid bool
			var err error
			if ns.DB, ns.Name, valid, err = catalog.ParseNamespace(v.Str()); err == nil && !valid {
				err = mongoerr.New(mongoerr.InvalidNamespace, "Invalid namespace specified for bulkWrite: '%s'",
					strings.TrimSuffix(v.Str(), "."))
			}
			if err == nil && req.Work != nil {
				err = command.CheckTransactionDatabase(ns.DB)
			}
			return err
		})
		out = append(out, ns)
		return err
	})
	return out, err
}

var nsInfoFields = []command.Field{
	{Name: "ns", Type: command.String, Required: true}, command.CollectionUUID, encryptionInformation,
}

func parseBulkOp(doc bsonx.Doc, spaces []command.Namespace) (bulkOp, error) {
	first := doc.First()
	var op bulkOp
	var err error
	switch string(first.Key) {
	case "insert":
		op.kind = command.BulkInsert
		err = command.ParseFields(bulkOps, doc, bulkInsertFields, op.setInsert)
	case "update":
		op.kind = command.BulkUpdate
		err = command.ParseFields(bulkOps, doc, bulkUpdateFields, op.setUpdate)
	case "delete":
		op.kind, op.delete.multi = command.BulkDelete, false
		err = command.ParseFields(bulkOps, doc, bulkDeleteFields, op.setDelete)
	default:
		return op, command.UnknownField(strings.TrimSuffix("bulkWrite."+string(first.Key), "."))
	}
	if err != nil {
		return op, err
	}
	i := spaceIndex(first.Value)
	if int(i) >= len(spaces) {
		return op, mongoerr.New(mongoerr.BadValue,
			"BulkWrite ops entry %s has an invalid nsInfo index.", format(op.kind, doc, i))
	}
	op.ns, op.space = spaces[i], int(i)
	return op, nil
}

// bulkOps is the path of an operation in error messages.
const bulkOps = "bulkWrite.ops"

// spaceIndex converts a number to the index of a namespace, clamped to 32 bits.
func spaceIndex(v bsonx.Value) int32 {
	return int32(max(math.MinInt32, min(bsonx.SaturatingInt64(v), math.MaxInt32)))
}

// checkSpace returns an error for a negative index of a namespace.
func checkSpace(name string, v bsonx.Value) error {
	return command.AtLeast(0)(name, bsonx.Int32(spaceIndex(v)))
}

// checkFieldHint is read.CheckHint with the signature of a field's Check.
func checkFieldHint(_ string, v bsonx.Value) error { return read.CheckHint(v) }

// format writes an operation in the format of MongoDB's errors: its kind with the index of the
// namespace, then the other fields sorted by name, including fields with default values.
func format(k command.BulkKind, doc bsonx.Doc, index int32) string {
	fields := map[string]bsonx.Value{}
	if k != command.BulkInsert {
		fields["multi"] = bsonx.Bool(false)
	}
	if k == command.BulkUpdate {
		fields["upsert"] = bsonx.Bool(false)
	}
	first := doc.First()
	for it := doc.Iter(); it.Next(); {
		fields[string(it.Key())] = it.Value()
	}
	delete(fields, string(first.Key))
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.Int32(string(first.Key), index)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		b.Value(name, fields[name])
	}
	b.End()
	return bsonx.FormatShell(bsonx.Document(b.Bytes()))
}

func (op *bulkOp) setInsert(i int, v bsonx.Value) error {
	if bulkInsertFields[i].Name == "document" {
		op.doc = v.Doc()
	}
	return nil
}

func (op *bulkOp) setUpdate(i int, v bsonx.Value) error {
	u := &op.update
	switch bulkUpdateFields[i].Name {
	case "filter":
		u.Query = v.Doc()
	case "updateMods":
		u.Mods = v
	case "multi":
		u.Multi = v.Truthy()
	case "upsert":
		u.Upsert = v.Truthy()
	case "upsertSupplied":
		u.Supplied = v.Truthy()
	case "arrayFilters":
		u.ArrayFilters = v
		_, err := command.DocsOf(bulkOps+".arrayFilters", v)
		return err
	case "hint":
		u.Hint = v
	case "constants":
		u.Constants = v
	case "collation":
		u.Collation = v
	case "sort":
		u.Sort = v.Doc()
	}
	return nil
}

func (op *bulkOp) setDelete(i int, v bsonx.Value) error {
	d := &op.delete
	switch bulkDeleteFields[i].Name {
	case "filter":
		d.query = v.Doc()
	case "multi":
		d.multi = v.Truthy()
	case "hint":
		d.hint = v
	case "collation":
		d.collation = v
	}
	return nil
}

// fatalError marks an error of one operation that ends the whole command.
type fatalError struct{ error }

// bulkRun is the state of a running bulkWrite.
type bulkRun struct {
	req        *command.Request
	scope      read.Scope
	opts       write.Options
	errorsOnly bool

	shown                                                  int // index of the namespace that currentOp shows; -1 for none
	results                                                []bsonx.Doc
	told                                                   errorText
	errors, inserted, matched, modified, upserted, deleted int64
}

// one runs an operation and records its result. An error that it returns ends the command.
func (r *bulkRun) one(ctx context.Context, i int, op *bulkOp) error {
	r.req.Count(op.kind.Counter(), 1)
	r.show(op)
	began := r.req.Service.Clock.Now()
	defer func() {
		took := &r.req.Spaces[op.space].Took[op.kind]
		*took = max(*took, 0) + clock.Since(r.req.Service.Clock, began)
	}()
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	n, err := r.run(ctx, i, op, b)
	b.End()
	var fatal *fatalError
	switch {
	case errors.As(err, &fatal):
		return fatal.error
	case err != nil && endsCommand(err):
		return err
	case err != nil:
		r.errors++
		r.results = append(r.results, bulkFailure(i, op, r.told.shortened(err)))
	case !r.errorsOnly:
		r.results = append(r.results, bsonx.NewDoc("ok", 1.0, "idx", i, "n", int32(n)))
		r.results[len(r.results)-1] = withFields(r.results[len(r.results)-1], b.Bytes())
	}
	return nil
}

// show makes currentOp show the collection of an operation.
func (r *bulkRun) show(op *bulkOp) {
	if r.shown == op.space {
		return
	}
	r.shown = op.space
	r.req.Op.SetInfo(func(info *session.OpInfo) { info.DB, info.Collection = op.ns.DB, []byte(op.ns.Name) })
}

// withFields returns doc with the fields of more appended.
func withFields(doc, more bsonx.Doc) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.Fields(doc)
	b.Fields(more)
	b.End()
	return b.Bytes()
}

func bulkFailure(i int, op *bulkOp, err *mongoerr.Error) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.Double("ok", 0)
	b.Int32("idx", int32(i))
	appendErrorFields(b, err)
	b.Int32("n", 0)
	if op.kind == command.BulkUpdate {
		b.Int32("nModified", 0)
	}
	b.End()
	return b.Bytes()
}

// run executes an operation and returns the field n of its result. It appends the fields that only
// results of this kind of operation have to result.
func (r *bulkRun) run(ctx context.Context, i int, op *bulkOp, result *bsonx.Builder) (int64, error) {
	r.req.Meant = nil
	if !op.ns.UUID.IsMissing() {
		if err := command.BindUUID(r.req, op.ns.DB, op.ns.Name, op.ns.UUID); err != nil {
			return 0, err
		}
	}
	debug := &r.req.Op.Debug
	switch op.kind {
	case command.BulkInsert:
		err := r.insert(ctx, i, op)
		if err != nil {
			return 0, err
		}
		r.inserted++
		debug.Inserted(1)
		return 1, nil
	case command.BulkUpdate:
		op.update.Position = i
		r.opts.Retry.Of(retryable.Update)
		res, err := runUpdateSpec(ctx, r.req, r.scope, op.ns.DB, op.ns.Name, &op.update, r.opts)
		r.matched += res.Matched
		r.modified += res.Modified
		n, upserted := res.Matched, int64(0)
		result.Int32("nModified", int32(res.Modified))
		if !res.UpsertedID.IsMissing() {
			upserted = 1
			result.Doc("upserted", bsonx.NewDoc("_id", res.UpsertedID))
		}
		r.upserted += upserted
		debug.Updated(res.Matched, res.Modified, upserted)
		return n + upserted, err
	default:
		op.delete.position = i
		r.opts.Retry.Of(retryable.Delete)
		n, err := runDeleteSpec(ctx, r.req, r.scope, op.ns.DB, op.ns.Name, &op.delete, r.opts)
		r.deleted += n
		debug.Deleted(n)
		return n, err
	}
}

func (r *bulkRun) insert(ctx context.Context, i int, op *bulkOp) error {
	if executed(r.req, i) != nil {
		return nil
	}
	r.opts.Retry.At(nil, i)
	defer r.opts.Retry.At(nil, 0)
	doc, err := update.PrepareInsert(op.doc, nil, insertTime(r.req))
	if err != nil {
		return err
	}
	var failure error
	if err := catalog.CheckWrite(op.ns.DB, op.ns.Name); err != nil {
		return &fatalError{err}
	}
	open := func() (*table.Collection, error) { return command.EnsureTarget(r.req, op.ns.DB, op.ns.Name) }
	if _, err := r.req.Service.Writes.Insert(ctx, open, []bsonx.Doc{doc}, r.opts,
		func(_ int, err error) { failure = err }); err != nil {
		return err
	}
	return failure
}

// report appends the counts to the reply, and the results of the operations as a cursor.
func (r *bulkRun) report(ctx context.Context, reply *bsonx.Builder) error {
	r.req.Failed = r.errors > 0
	r.req.Service.Stats.UserErrors.Add(r.errors)
	if err := command.ReplyList(ctx, r.req, reply, command.BulkWriteCursor, read.ListOf(r.results)); err != nil {
		return err
	}
	reply.Int32("nErrors", int32(r.errors))
	reply.Int32("nInserted", int32(r.inserted))
	reply.Int32("nMatched", int32(r.matched))
	reply.Int32("nModified", int32(r.modified))
	reply.Int32("nUpserted", int32(r.upserted))
	reply.Int32("nDeleted", int32(r.deleted))
	appendRetried(r.req, reply)
	return nil
}
