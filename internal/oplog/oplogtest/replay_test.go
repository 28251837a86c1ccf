package oplogtest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"pgregory.net/rapid"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/oplog/oplogtest"
)

// TestReplay runs random commands, some of which fail, and rebuilds the collections from the oplog.
func TestReplay(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		db, err := sheaf.Open(sheaf.Memory, nil)
		if err != nil {
			rt.Fatal(err)
		}
		defer db.Close()
		w := &workload{T: rt, client: db.Client(), ctx: t.Context()}
		replica := oplogtest.NewReplica()
		for range rapid.IntRange(1, 40).Draw(rt, "commands") {
			w.step()
			if rapid.IntRange(0, 9).Draw(rt, "look") == 0 {
				w.check(replica)
			}
		}
		w.check(replica)
	})
}

// end is the collection for the last document of a test, after all other writes.
const end = "end"

// TestEvents runs random commands, and rebuilds the collections from the events of a change stream.
func TestEvents(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		db, err := sheaf.Open(sheaf.Memory, nil)
		if err != nil {
			rt.Fatal(err)
		}
		defer db.Close()
		w := &workload{T: rt, client: db.Client(), ctx: t.Context()}
		opts := options.ChangeStream().SetShowExpandedEvents(true).SetMaxAwaitTime(time.Millisecond)
		if rapid.Bool().Draw(rt, "small batches") {
			opts.SetBatchSize(2)
		}
		stream, err := w.client.Watch(w.ctx, bson.A{}, opts)
		if err != nil {
			rt.Fatal(err)
		}
		mirror := oplogtest.NewMirror()
		for range rapid.IntRange(1, 40).Draw(rt, "commands") {
			w.step()
			if rapid.IntRange(0, 9).Draw(rt, "resume") == 0 {
				for stream.TryNext(w.ctx) {
					w.apply(mirror, stream.Current)
				}
				token := stream.ResumeToken()
				if err := stream.Close(w.ctx); err != nil {
					rt.Fatal(err)
				}
				opts.SetResumeAfter(token)
				if stream, err = w.client.Watch(w.ctx, bson.A{}, opts); err != nil {
					rt.Fatal(err)
				}
			}
		}
		if _, err := w.client.Database(end).Collection(end).InsertOne(w.ctx, bson.D{}); err != nil {
			rt.Fatal(err)
		}
		for stream.Next(w.ctx) {
			w.apply(mirror, stream.Current)
			if stream.Current.Lookup("ns", "db").
				StringValue() == end && stream.Current.Lookup("operationType").StringValue() == "insert" {
				break
			}
		}
		w.check(mirror)
	})
}

func (w *workload) apply(r *oplogtest.Replica, event bson.Raw) {
	w.Helper()
	if err := r.ApplyEvent(bsonx.Doc(event)); err != nil {
		w.fail(fmt.Errorf("%w: event %v", err, event))
	}
}

// workload draws commands.
type workload struct {
	*rapid.T
	client *mongo.Client
	ctx    context.Context
	done   []string // the commands so far, with their errors
}

func (w *workload) check(r *oplogtest.Replica) {
	w.Helper()
	if err := r.Check(w.ctx, w.client); err != nil {
		w.fail(err)
	}
}

func (w *workload) fail(err error) {
	w.Helper()
	for _, line := range w.done {
		w.Log(line)
	}
	w.Fatal(err)
}

// run runs a command, which may fail.
func (w *workload) run(ctx context.Context, db string, command bson.D) error {
	err := w.client.Database(db).RunCommand(ctx, command).Err()
	text, _ := bson.MarshalExtJSON(command, false, false)
	w.done = append(w.done, fmt.Sprintf("%s %s: %v", db, text, err))
	return err
}

// pick draws one of the values.
func pick[T any](w *workload, name string, values ...T) T {
	return rapid.SampledFrom(values).Draw(w.T, name)
}

func (w *workload) db() string   { return pick(w, "db", "a", "a", "b") }
func (w *workload) coll() string { return pick(w, "collection", "c", "c", "d", "e") }
func (w *workload) id() int32    { return rapid.Int32Range(0, 5).Draw(w.T, "id") }

// at draws times for a time-series collection.
func (w *workload) at() time.Time {
	return time.Unix(1_700_000_000+int64(rapid.IntRange(0, 5000).Draw(w.T, "seconds")), 0)
}

func (w *workload) step() {
	steps := []func(){
		w.write, w.write, w.write, w.write, w.create, w.drop, w.rename, w.capped, w.modify, w.index,
		w.results, w.transaction, w.series,
	}
	pick(w, "step", steps...)()
}

func (w *workload) doc() bson.D {
	d := bson.D{{"_id", w.id()}}
	for _, field := range []string{"x", "y", "l"} {
		if rapid.Bool().Draw(w.T, field) {
			d = append(d, bson.E{field, w.value()})
		}
	}
	return d
}

// text is a value so long that an update is logged as a diff.
const text = "a text of some length"

func (w *workload) value() any {
	return pick[any](w, "value", 1, 2.5, "s", bson.A{1, 2, 3}, bson.A{bson.D{{"k", 1}}},
		bson.A{text, bson.D{{"k", text}, {"m", 1}}, 3},
		bson.D{{"k", 1}, {"m", text}}, nil)
}

// change draws an update.
func (w *workload) change() any {
	field := pick(w, "field", "x", "y", "l", "x.k", "l.0", "l.1.k", "l.1.m", "new")
	set := func(operator string, v any) any {
		return bson.D{{operator, bson.D{{field, v}}}}
	}
	switch pick(w, "operator", "$set", "$unset", "$inc", "$push", "$pop", "$rename", "pipeline",
		"shorten", "dots", "replace") {
	case "$unset":
		return set("$unset", 1)
	case "$inc":
		return set("$inc", 3)
	case "$push":
		return set("$push", w.value())
	case "$pop":
		return set("$pop", 1)
	case "$rename":
		return set("$rename", "renamed")
	case "pipeline":
		return bson.A{
			bson.D{{
				"$set",
				bson.D{{"x", "$y"}, {"l", bson.A{"$x", 1}}},
			}},
			bson.D{{"$unset", "y"}},
		}
	case "dots": // paths whose dots are ambiguous
		dotted := bson.D{{
			"$setField",
			bson.D{
				{"field", "p.q"},
				{"input", "$$ROOT"},
				{"value", w.id()},
			},
		}}
		return bson.A{
			bson.D{{"$replaceWith", dotted}},
			bson.D{{"$set", bson.D{{"r.0", w.id()}, {"r.t", text}}}},
		}
	case "shorten":
		array := bson.D{{
			"$cond",
			bson.A{
				bson.D{{"$isArray", "$l"}},
				bson.D{{"$slice", bson.A{"$l", 2}}},
				bson.A{text, text, 1, 2},
			},
		}}
		return bson.A{bson.D{{"$set", bson.D{{"l", array}}}}}
	case "replace":
		return append(bson.D{}, w.doc()[1:]...)
	default:
		return set("$set", w.value())
	}
}

func (w *workload) filter() bson.D {
	return pick(w, "filter", bson.D{{"_id", w.id()}}, bson.D{{"x", 1}}, bson.D{})
}

func (w *workload) write() { _ = w.run(w.ctx, w.db(), w.writeCommand()) }

func (w *workload) writeCommand() bson.D {
	coll := w.coll()
	ordered := bson.E{"ordered", rapid.Bool().Draw(w.T, "ordered")}
	switch pick(w, "write", "insert", "insert", "update", "update", "delete", "findAndModify") {
	case "insert":
		docs := bson.A{}
		for range rapid.IntRange(1, 4).Draw(w.T, "documents") {
			docs = append(docs, w.doc())
		}
		return bson.D{{"insert", coll}, {"documents", docs}, ordered}
	case "update":
		updates := bson.A{}
		for range rapid.IntRange(1, 2).Draw(w.T, "updates") {
			updates = append(updates, bson.D{
				{"q", w.filter()},
				{"u", w.change()},
				{"multi", rapid.Bool().Draw(w.T, "multi")},
				{"upsert", rapid.Bool().Draw(w.T, "upsert")},
			})
		}
		return bson.D{{"update", coll}, {"updates", updates}, ordered}
	case "delete":
		return bson.D{
			{"delete", coll},
			{"deletes", bson.A{bson.D{
				{"q", w.filter()},
				{"limit", pick(w, "limit", 0, 1)},
			}}},
		}
	default:
		if rapid.Bool().Draw(w.T, "remove") {
			return bson.D{
				{"findAndModify", coll},
				{"query", w.filter()},
				{"remove", true},
			}
		}
		return bson.D{
			{"findAndModify", coll},
			{"query", w.filter()},
			{"update", w.change()},
			{"upsert", rapid.Bool().Draw(w.T, "upsert")},
		}
	}
}

// transaction runs writes, and sometimes a create, in a transaction that commits or aborts.
func (w *workload) transaction() {
	session, err := w.client.StartSession()
	if err != nil {
		w.Fatal(err)
	}
	defer session.EndSession(w.ctx)
	if err := session.StartTransaction(); err != nil {
		w.Fatal(err)
	}
	ctx := mongo.NewSessionContext(w.ctx, session)
	db := w.db()
	for range rapid.IntRange(1, 4).Draw(w.T, "statements") {
		command := w.writeCommand()
		if pick(w, "create", false, false, true) {
			command = bson.D{{"create", w.coll()}}
		}
		if w.run(ctx, db, command) != nil {
			break
		}
	}
	if rapid.Bool().Draw(w.T, "commit") {
		err = session.CommitTransaction(w.ctx)
	} else {
		err = session.AbortTransaction(w.ctx)
	}
	w.done = append(w.done, fmt.Sprint("the transaction ends: ", err))
}
