package changestream_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/sheaftest"
)

// watcher is the interface of clients, databases and collections that opens streams.
type watcher interface {
	Watch(ctx context.Context, pipeline any,
		opts ...options.Lister[options.ChangeStreamOptions]) (*mongo.ChangeStream, error)
}

func watch(t *testing.T, w watcher, stages bson.A,
	opts ...options.Lister[options.ChangeStreamOptions],
) *mongo.ChangeStream {
	t.Helper()
	opts = append(opts, options.ChangeStream().SetMaxAwaitTime(50*time.Millisecond))
	stream, err := w.Watch(t.Context(), stages, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stream.Close(context.Background()) })
	return stream
}

// next returns the next event without the fields that differ between runs.
func next(t *testing.T, stream *mongo.ChangeStream) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if !stream.Next(ctx) {
		t.Fatalf("no event: %v", stream.Err())
	}
	return plain(t, stream.Current)
}

func plain(t *testing.T, event bson.Raw) string {
	t.Helper()
	elements, err := event.Elements()
	if err != nil {
		t.Fatal(err)
	}
	var parts []string
	for _, e := range elements {
		switch e.Key() {
		case "_id", "clusterTime", "wallTime", "collectionUUID", "lsid", "txnNumber":
		default:
			text, err := bson.MarshalExtJSON(bson.D{{e.Key(), e.Value()}}, false, false)
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, strings.TrimSuffix(strings.TrimPrefix(string(text), "{"), "}"))
		}
	}
	return strings.Join(parts, " ")
}

func wantEvents(t *testing.T, stream *mongo.ChangeStream, want ...string) {
	t.Helper()
	for _, w := range want {
		if got := next(t, stream); got != w {
			t.Errorf("event\n got %s\nwant %s", got, w)
		}
	}
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// withImages creates the collection d.c, which keeps the previous versions of changed documents.
func withImages(t *testing.T, client *mongo.Client) *mongo.Collection {
	t.Helper()
	db := client.Database("d")
	if err := db.CreateCollection(t.Context(), "c",
		options.CreateCollection().SetChangeStreamPreAndPostImages(bson.D{{"enabled", true}})); err != nil {
		t.Fatal(err)
	}
	return db.Collection("c")
}

// bothImages requests the versions before and after a change.
func bothImages(when options.FullDocument) *options.ChangeStreamOptionsBuilder {
	return options.ChangeStream().SetFullDocument(when).SetFullDocumentBeforeChange(when)
}

func open(t *testing.T, dir string) *sheaf.DB {
	t.Helper()
	db, err := sheaf.Open(dir, &sheaf.Options{Sync: sheaf.SyncOnRequest})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// filler makes a document so large that an update of it is logged as a diff.
const filler = "a text that is long enough"

func TestDocumentEvents(t *testing.T) {
	client := sheaftest.New(t)
	c := client.Database("d").Collection("c")
	stream := watch(t, c, bson.A{})
	ctx := t.Context()
	must[*mongo.InsertOneResult](t)(c.InsertOne(ctx,
		bson.D{
			{"_id", 1},
			{"a", 1},
			{"l", bson.A{filler, filler, 3}},
			{"n", bson.D{{"x", 1}, {"f", filler}}},
		}))
	must[*mongo.InsertOneResult](t)(client.Database("d").Collection("other").
		InsertOne(ctx, bson.D{{"_id", 1}}))
	update := func(u any) {
		t.Helper()
		must[*mongo.UpdateResult](t)(c.UpdateOne(ctx, bson.D{{"_id", 1}}, u))
	}
	update(bson.D{{"$set", bson.D{{"a", 2}, {"n.x", 2}, {"new", 1}}}})
	update(bson.D{{"$unset", bson.D{{"a", 1}, {"n.x", 1}}}})
	update(bson.A{bson.D{{
		"$set",
		bson.D{{"l", bson.D{{"$slice", bson.A{"$l", 2}}}}},
	}}})
	update(bson.D{{"$push", bson.D{{"l", 5}}}})
	update(bson.D{{"$set", bson.D{{"small", bson.D{{"x", bson.A{1, 2}}}}}}})
	update(bson.D{{"$inc", bson.D{{"small.x.1", 1}}}})
	update(bson.D{{"$pop", bson.D{{"small.x", 1}}}}) // truncated arrays are for pipelines
	update(bson.D{{"$set", bson.D{{"new", 1}}}})     // changes nothing
	must[*mongo.UpdateResult](t)(c.ReplaceOne(ctx, bson.D{{"_id", 1}}, bson.D{{"b", 1}}))
	must[*mongo.DeleteResult](t)(c.DeleteOne(ctx, bson.D{{"_id", 1}}))
	const ns = `"ns":{"db":"d","coll":"c"} "documentKey":{"_id":1}`
	update0 := func(updated, removed, truncated string) string {
		return `"operationType":"update" ` + ns + ` "updateDescription":{"updatedFields":` + updated +
			`,"removedFields":` + removed + `,"truncatedArrays":` + truncated + `}`
	}
	wantEvents(t, stream,
		`"operationType":"insert" "fullDocument":{"_id":1,"a":1,"l":["`+filler+`","`+filler+`",3],"n":{"x":1,"f":"`+filler+`"}} `+ns,
		update0(`{"a":2,"new":1,"n.x":2}`, `[]`, `[]`),
		update0(`{}`, `["a","n.x"]`, `[]`),
		update0(`{}`, `[]`, `[{"field":"l","newSize":2}]`),
		update0(`{"l.2":5}`, `[]`, `[]`),
		update0(`{"small":{"x":[1,2]}}`, `[]`, `[]`),
		update0(`{"small.x.1":3}`, `[]`, `[]`),
		update0(`{"small.x":[1]}`, `[]`, `[]`),
		`"operationType":"replace" "fullDocument":{"_id":1,"b":1} `+ns,
		`"operationType":"delete" `+ns,
	)
	if stream.TryNext(ctx) {
		t.Errorf("event too many: %v", stream.Current)
	}
	if len(stream.ResumeToken()) == 0 {
		t.Error("no token after an empty batch")
	}
}

func TestScopes(t *testing.T) {
	client := sheaftest.New(t)
	ctx := t.Context()
	database, all := watch(t, client.Database("d"), bson.A{}), watch(t, client, bson.A{})
	for _, ns := range []string{"d.a", "d.b", "e.a"} {
		db, coll, _ := strings.Cut(ns, ".")
		must[*mongo.InsertOneResult](t)(client.Database(db).Collection(coll).
			InsertOne(ctx, bson.D{{"_id", ns}}))
	}
	if err := client.Database("d").Collection("a").Drop(ctx); err != nil {
		t.Fatal(err)
	}
	must[*mongo.SingleResult](t)(client.Database("admin").
		RunCommand(ctx, bson.D{{"renameCollection", "d.b"}, {"to", "d.x"}}), nil)
	if err := client.Database("d").Drop(ctx); err != nil {
		t.Fatal(err)
	}
	insert := func(db, coll string) string {
		return fmt.Sprintf(`"operationType":"insert" "fullDocument":{"_id":"%s.%s"} "ns":{"db":"%s","coll":"%s"} "documentKey":{"_id":"%s.%s"}`, db, coll, db, coll, db, coll)
	}
	rest := []string{
		`"operationType":"drop" "ns":{"db":"d","coll":"a"}`,
		`"operationType":"rename" "ns":{"db":"d","coll":"b"} "to":{"db":"d","coll":"x"}`,
		`"operationType":"drop" "ns":{"db":"d","coll":"x"}`,
		`"operationType":"dropDatabase" "ns":{"db":"d"}`,
	}
	wantEvents(t, all, append([]string{insert("d", "a"), insert("d", "b"), insert("e", "a")}, rest...)...)
	wantEvents(t, database,
		append(append([]string{insert("d", "a"), insert("d", "b")}, rest...), `"operationType":"invalidate"`)...)
	if database.Next(ctx) || database.Err() != nil || database.ID() != 0 {
		t.Errorf("after its invalidation: %v, cursor %d", database.Err(), database.ID())
	}
}

// TestRenameToAnotherDatabase checks that streams of both databases, and a stream of the replaced
// collection, get events.
func TestRenameToAnotherDatabase(t *testing.T) {
	client := sheaftest.New(t)
	ctx := t.Context()
	for _, db := range []string{"a", "b"} {
		must[*mongo.InsertOneResult](t)(client.Database(db).Collection("c").
			InsertOne(ctx, bson.D{{"_id", 1}}))
	}
	from, to := watch(t, client.Database("a"), bson.A{}), watch(t, client.Database("b"), bson.A{})
	replaced, other := watch(t, client.Database("b").Collection("c"), bson.A{}), watch(t,
		client.Database("b").Collection("x"), bson.A{})
	err := client.Database("admin").
		RunCommand(ctx, bson.D{
			{"renameCollection", "a.c"},
			{"to", "b.c"},
			{"dropTarget", true},
		}).Err()
	if err != nil {
		t.Fatal(err)
	}
	const rename = `"operationType":"rename" "ns":{"db":"a","coll":"c"} "to":{"db":"b","coll":"c"}`
	wantEvents(t, from, rename)
	wantEvents(t, to, rename)
	wantEvents(t, replaced, rename, `"operationType":"invalidate"`)
	if other.TryNext(ctx) {
		t.Errorf("event too many: %v", other.Current)
	}
}

func TestInvalidation(t *testing.T) {
	client := sheaftest.New(t)
	ctx := t.Context()
	c := client.Database("d").Collection("c")
	must[*mongo.InsertOneResult](t)(c.InsertOne(ctx, bson.D{{"_id", 1}}))
	stream := watch(t, c, bson.A{})
	if err := c.Drop(ctx); err != nil {
		t.Fatal(err)
	}
	must[*mongo.InsertOneResult](t)(c.InsertOne(ctx, bson.D{{"_id", 2}}))
	wantEvents(t, stream, `"operationType":"drop" "ns":{"db":"d","coll":"c"}`)
	drop := stream.ResumeToken()
	wantEvents(t, stream, `"operationType":"invalidate"`)
	token := stream.ResumeToken()
	_, err := c.Watch(ctx, bson.A{}, options.ChangeStream().SetResumeAfter(token))
	wantCode(t, err, 260)
	wantEvents(t, watch(t, c, bson.A{}, options.ChangeStream().SetResumeAfter(drop)), `"operationType":"invalidate"`)
	wantEvents(t, watch(t, c, bson.A{}, options.ChangeStream().SetStartAfter(token)),
		`"operationType":"insert" "fullDocument":{"_id":2} "ns":{"db":"d","coll":"c"} "documentKey":{"_id":2}`)
}

func wantCode(t *testing.T, err error, code int32) {
	t.Helper()
	var failure mongo.CommandError
	if !errors.As(err, &failure) || failure.Code != code {
		t.Errorf("got %v, want code %d", err, code)
	}
}

func TestResume(t *testing.T) {
	client := sheaftest.New(t)
	ctx := t.Context()
	c := client.Database("d").Collection("c")
	start := watch(t, c, bson.A{})
	var tokens []bson.Raw
	for i := range 5 {
		must[*mongo.InsertOneResult](t)(c.InsertOne(ctx, bson.D{{"_id", i}}))
		next(t, start)
		tokens = append(tokens, start.ResumeToken())
	}
	for i, token := range tokens {
		for name, opts := range map[string]*options.ChangeStreamOptionsBuilder{
			"resumeAfter": options.ChangeStream().SetResumeAfter(token),
			"startAfter":  options.ChangeStream().SetStartAfter(token),
		} {
			stream := watch(t, c, bson.A{}, opts)
			for j := i + 1; j < 5; j++ {
				if got := next(t, stream); !strings.Contains(got, fmt.Sprintf(`"documentKey":{"_id":%d}`, j)) {
					t.Errorf("%s %d: got %s, want document %d", name, i, got, j)
				}
			}
			if stream.TryNext(ctx) {
				t.Errorf("%s %d: event too many: %v", name, i, stream.Current)
			}
		}
	}
	var event struct {
		ClusterTime bson.Timestamp `bson:"clusterTime"`
	}
	stream := watch(t, c, bson.A{}, options.ChangeStream().SetResumeAfter(tokens[1]))
	next(t, stream)
	if err := stream.Decode(&event); err != nil {
		t.Fatal(err)
	}
	stream = watch(t, c, bson.A{}, options.ChangeStream().SetStartAtOperationTime(&event.ClusterTime))
	if got := next(t, stream); !strings.Contains(got, `"documentKey":{"_id":2}`) {
		t.Errorf("startAtOperationTime: got %s", got)
	}
	_, err := c.Watch(ctx, bson.A{}, options.ChangeStream().SetStartAtOperationTime(&bson.Timestamp{T: 1}))
	if err != nil {
		t.Errorf("before the log's beginning, which is complete: %v", err)
	}
}

// TestEmptyFirstBatch resumes streams whose first batch is empty. The token of the batch must not
// precede the given token, even in the middle of a transaction.
func TestEmptyFirstBatch(t *testing.T) {
	client := sheaftest.New(t)
	ctx := t.Context()
	c := client.Database("d").Collection("c")
	start := watch(t, c, bson.A{})
	must[*mongo.InsertOneResult](t)(c.InsertOne(ctx, bson.D{{"_id", 0}}))
	session := must[*mongo.Session](t)(client.StartSession())
	defer session.EndSession(ctx)
	_ = must[any](t)(session.WithTransaction(ctx, func(ctx context.Context) (any, error) {
		return c.InsertMany(ctx, []bson.D{{{"_id", 1}}, {{"_id", 2}}, {{"_id", 3}}})
	}))
	must[*mongo.InsertOneResult](t)(c.InsertOne(ctx, bson.D{{"_id", 4}}))
	for i := range 4 {
		next(t, start)
		token := start.ResumeToken()
		empty := watch(t, c, bson.A{}, options.ChangeStream().SetResumeAfter(token).SetBatchSize(0))
		if got := empty.ResumeToken(); !bytes.Equal(got, token) {
			t.Errorf("behind event %d: the token %v became %v", i, token, got)
		}
		again := watch(t, c, bson.A{}, options.ChangeStream().SetResumeAfter(empty.ResumeToken()))
		if got := next(t, again); !strings.Contains(got, fmt.Sprintf(`"documentKey":{"_id":%d}`, i+1)) {
			t.Errorf("behind event %d: %s", i, got)
		}
	}
}

func TestFullDocuments(t *testing.T) {
	client := sheaftest.New(t)
	ctx := t.Context()
	db := client.Database("d")
	c, plainly := withImages(t, client), db.Collection("plain")
	before := bothImages(options.Required)
	images, looked := watch(t, c, bson.A{}, before), watch(t, c, bson.A{},
		options.ChangeStream().SetFullDocument(options.UpdateLookup))
	without, demanding := watch(t, plainly, bson.A{},
		bothImages(options.WhenAvailable)), watch(t, plainly, bson.A{}, before)
	for _, c := range []*mongo.Collection{c, plainly} {
		must[*mongo.InsertOneResult](t)(c.InsertOne(ctx, bson.D{{"_id", 1}}))
		must[*mongo.UpdateResult](t)(c.UpdateOne(ctx, bson.D{},
			bson.D{{"$set", bson.D{{"a", 1}}}}))
		must[*mongo.UpdateResult](t)(c.UpdateOne(ctx, bson.D{},
			bson.D{{"$set", bson.D{{"a", 2}}}}))
	}
	const insert = `"operationType":"insert" "fullDocument":{"_id":1} "ns":{"db":"d","coll":"%s"} "documentKey":{"_id":1}`
	const update = `"operationType":"update" "fullDocument":%s "ns":{"db":"d","coll":"%s"} "documentKey":{"_id":1} "updateDescription":{"updatedFields":{"a":%d},"removedFields":[],"truncatedArrays":[]}`
	wantEvents(t, images, fmt.Sprintf(insert, "c"),
		fmt.Sprintf(update, `{"_id":1,"a":1}`, "c", 1)+` "fullDocumentBeforeChange":{"_id":1}`,
		fmt.Sprintf(update, `{"_id":1,"a":2}`, "c", 2)+` "fullDocumentBeforeChange":{"_id":1,"a":1}`)
	wantEvents(t, looked, fmt.Sprintf(insert, "c"), fmt.Sprintf(update, `{"_id":1,"a":2}`, "c", 1),
		fmt.Sprintf(update, `{"_id":1,"a":2}`, "c", 2))
	wantEvents(t, without, fmt.Sprintf(insert, "plain"),
		fmt.Sprintf(update, "null", "plain", 1)+` "fullDocumentBeforeChange":null`)
	if demanding.Next(ctx) {
		t.Errorf("event %v", demanding.Current)
	}
	wantCode(t, demanding.Err(), 47)
	must[*mongo.DeleteResult](t)(c.DeleteMany(ctx, bson.D{}))
	wantEvents(t, images, `"operationType":"delete" "ns":{"db":"d","coll":"c"} "documentKey":{"_id":1} "fullDocumentBeforeChange":{"_id":1,"a":2}`)
}

func TestPipeline(t *testing.T) {
	client := sheaftest.New(t)
	ctx := t.Context()
	c := client.Database("d").Collection("c")
	stream := watch(t, c, bson.A{
		bson.D{{"$match", bson.D{{"fullDocument.n", bson.D{{"$gt", 1}}}}}},
		bson.D{{"$project", bson.D{{"n", "$fullDocument.n"}}}},
	})
	broken := watch(t, c, bson.A{bson.D{{"$project", bson.D{{"_id", 0}}}}})
	for i := range 4 {
		must[*mongo.InsertOneResult](t)(c.InsertOne(ctx, bson.D{{"n", i}}))
	}
	wantEvents(t, stream, `"n":2`, `"n":3`)
	if broken.Next(ctx) {
		t.Errorf("event %v", broken.Current)
	}
	wantCode(t, broken.Err(), 280)
	_, err := c.Watch(ctx, bson.A{bson.D{{"$group", bson.D{{"_id", 1}}}}})
	wantCode(t, err, 20)
}

func TestRefused(t *testing.T) {
	client := sheaftest.New(t)
	ctx := t.Context()
	db := client.Database("d")
	if err := db.CreateView(ctx, "v", "c", bson.A{}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		db, coll string
		arg      any
		code     int32
	}{
		{"d", "c", 1, 6188500},
		{"d", "c", bson.D{{"x", 1}}, 40415},
		{"d", "c", bson.D{{"fullDocument", "x"}}, 2},
		{"d", "c", bson.D{{"fullDocument", 1}}, 14},
		{"d", "c", bson.D{{"resumeAfter", bson.D{{"_data", 1}}}}, 40649},
		{"d", "c", bson.D{{"resumeAfter", bson.D{{"_data", "zz"}}}}, 9},
		{"d", "c", bson.D{{"resumeAfter", bson.D{{"_data", "82"}}}}, 9},
		{"d", "c", bson.D{{"allChangesForCluster", true}}, 72},
		{"d", "v", bson.D{}, 166},
		{"d", "system.views", bson.D{}, 73},
		{"admin", "c", bson.D{}, 73},
		{"local", "oplog.rs", bson.D{}, 73},
	} {
		err := client.Database(test.db).
			RunCommand(ctx, bson.D{
				{"aggregate", test.coll},
				{"cursor", bson.D{}},
				{"pipeline", bson.A{bson.D{{"$changeStream", test.arg}}}},
			}).Err()
		t.Run(fmt.Sprint(test.coll, test.arg), func(t *testing.T) { wantCode(t, err, test.code) })
	}
}

// TestManyStreams checks that several streams return the changes of concurrent writers. Each stream
// must return every change once, in the same order as the other streams.
func TestManyStreams(t *testing.T) {
	const streams, writers, writes = 4, 4, 100
	client := sheaftest.New(t)
	c := client.Database("d").Collection("c")
	var followers, authors sync.WaitGroup
	seen := make([][]string, streams)
	for i := range streams {
		stream := watch(t, c, bson.A{})
		followers.Go(func() {
			for range writers * writes {
				seen[i] = append(seen[i], next(t, stream))
			}
		})
	}
	for w := range writers {
		authors.Go(func() {
			for i := range writes {
				if _, err := c.InsertOne(t.Context(), bson.D{{"_id", fmt.Sprint(w, "-", i)}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	authors.Wait()
	followers.Wait()
	once := map[string]bool{}
	for i, event := range seen[0] {
		once[event] = true
		for s := 1; s < streams; s++ {
			if seen[s][i] != event {
				t.Fatalf("event %d: stream %d got %s, stream 0 got %s", i, s, seen[s][i], event)
			}
		}
	}
	if len(once) != writers*writes {
		t.Errorf("%d different events, want %d", len(once), writers*writes)
	}
}
