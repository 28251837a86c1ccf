package crashtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
)

// step is one kind of operation of a worker. run reports whether the server replied.
type step struct {
	name   string
	weight int
	run    func(ctx context.Context, w *worker) bool
}

var steps = []step{
	{"insert", 6, insertOne},
	{"insert many", 3, insertMany},
	{"insert a duplicate", 1, insertDuplicate},
	{"update", 6, updateOne},
	{"update many", 2, updateMany},
	{"replace or insert", 3, replace},
	{"delete", 3, deleteOne},
	{"delete many", 1, deleteMany},
	{"find and modify", 3, findAndModify},
	{"find and remove", 1, findAndRemove},
	{"add to a shared counter", 3, addShared},
	{"read", 2, readBack},
}

var totalWeight = func() (n int) {
	for _, s := range steps {
		n += s.weight
	}
	return n
}()

const (
	workDB     = "work"
	docsName   = "docs"
	sharedName = "shared"
	// maxDocs is the number of documents from which a worker deletes more than it inserts.
	maxDocs = 500
)

// coll returns the collection of the workers, with a random write concern.
func (w *worker) coll() *mongo.Collection {
	o := options.Collection()
	switch w.rng.IntN(6) {
	case 0:
		o.SetWriteConcern(writeconcern.Journaled())
	case 1:
		o.SetWriteConcern(writeconcern.Majority())
	}
	return w.srv.client.Database(workDB).Collection(docsName, o)
}

func insertOne(ctx context.Context, w *worker) bool {
	if len(w.docs) > maxDocs {
		return deleteMany(ctx, w)
	}
	r := w.newRecord()
	return w.write(map[string]string{r.ID: r.state()}, func() error {
		_, err := w.coll().InsertOne(ctx, r)
		return err
	})
}

func insertMany(ctx context.Context, w *worker) bool {
	changes := map[string]string{}
	var docs []record
	for range 1 + w.rng.IntN(40) {
		r := w.newRecord()
		changes[r.ID] = r.state()
		docs = append(docs, r)
	}
	return w.write(changes, func() error {
		_, err := w.coll().InsertMany(ctx, docs, options.InsertMany().SetOrdered(w.rng.IntN(2) == 0))
		return err
	})
}

// insertDuplicate violates the unique index. It must have no effect.
func insertDuplicate(ctx context.Context, w *worker) bool {
	old, ok := w.pick()
	if !ok {
		return true
	}
	r := w.newRecord()
	r.Unique = old.Unique
	return w.write(map[string]string{r.ID: absent}, func() error {
		_, err := w.coll().InsertOne(ctx, r)
		if mongo.IsDuplicateKeyError(err) {
			return nil
		}
		return fmt.Errorf("a duplicate of %s was not refused: %w", old.ID, errors.Join(err, ctx.Err()))
	})
}

func updateOne(ctx context.Context, w *worker) bool {
	r, ok := w.pick()
	if !ok {
		return true
	}
	by, tag := w.rng.Int64N(10)-5, w.rng.Int32N(50)
	filter := bson.D{{"_id", r.ID}}
	if w.rng.IntN(3) == 0 {
		filter = bson.D{{"u", r.Unique}}
	}
	r.N, r.Tags = r.N+by, append(r.Tags, tag)
	update := bson.D{
		{"$inc", bson.D{{"n", by}}},
		{"$push", bson.D{{"tags", tag}}},
	}
	if len(r.Tags) > 6 {
		r.Tags, r.Part = []int32{}, r.Part+1
		update = bson.D{
			{"$inc", bson.D{{"n", by}, {"p", int32(1)}}},
			{"$set", bson.D{{"tags", r.Tags}}},
		}
	}
	return w.write(map[string]string{r.ID: r.state()}, func() error {
		res, err := w.coll().UpdateOne(ctx, filter, update)
		if err == nil && res.MatchedCount != 1 {
			return fmt.Errorf("update of %s matched %d", r.ID, res.MatchedCount)
		}
		return err
	})
}

// updateMany changes the documents of a group. Each change is a transaction of its own.
func updateMany(ctx context.Context, w *worker) bool {
	group := w.rng.Int32N(8)
	changes := map[string]string{}
	for _, id := range w.ids() {
		if r := parse(w.docs[id].states[0]); r.Group == group {
			r.N += 1000
			changes[id] = r.state()
		}
	}
	return w.write(changes, func() error {
		res, err := w.coll().UpdateMany(ctx, bson.D{{"w", w.id}, {"g", group}},
			bson.D{{"$inc", bson.D{{"n", int64(1000)}}}})
		if err == nil && res.ModifiedCount != int64(len(changes)) {
			return fmt.Errorf("update of group %d modified %d of %d", group, res.ModifiedCount, len(changes))
		}
		return err
	})
}

// replace replaces a random document of the worker, or inserts a new one by an upsert.
func replace(ctx context.Context, w *worker) bool {
	r := w.newRecord()
	if old, ok := w.pick(); ok && w.rng.IntN(2) == 0 {
		r.ID, r.Unique = old.ID, old.Unique+"x"
		r.Tags = []int32{1, 2, 2, 3}
	}
	return w.write(map[string]string{r.ID: r.state()}, func() error {
		_, err := w.coll().ReplaceOne(ctx, bson.D{{"_id", r.ID}}, r, options.Replace().SetUpsert(true))
		return err
	})
}

func deleteOne(ctx context.Context, w *worker) bool {
	r, ok := w.pick()
	if !ok {
		return true
	}
	return w.write(map[string]string{r.ID: absent}, func() error {
		res, err := w.coll().DeleteOne(ctx, bson.D{{"_id", r.ID}})
		if err == nil && res.DeletedCount != 1 {
			return fmt.Errorf("delete of %s removed %d", r.ID, res.DeletedCount)
		}
		return err
	})
}

func deleteMany(ctx context.Context, w *worker) bool {
	group := w.rng.Int32N(8)
	changes := map[string]string{}
	for _, id := range w.ids() {
		if parse(w.docs[id].states[0]).Group == group {
			changes[id] = absent
		}
	}
	return w.write(changes, func() error {
		res, err := w.coll().DeleteMany(ctx, bson.D{{"w", w.id}, {"g", group}})
		if err == nil && res.DeletedCount != int64(len(changes)) {
			return fmt.Errorf("delete of group %d removed %d of %d", group, res.DeletedCount, len(changes))
		}
		return err
	})
}

func findAndModify(ctx context.Context, w *worker) bool {
	r, ok := w.pick()
	if !ok {
		return true
	}
	before := r.state()
	r.Part, r.Pad = (r.Part+3)%10, pad(w.rng.IntN(900))
	r.move(w.rng)
	after := r.state()
	want, which := before, options.Before
	if w.rng.IntN(2) == 0 {
		want, which = after, options.After
	}
	return w.write(map[string]string{r.ID: after}, func() error {
		got, err := w.coll().FindOneAndUpdate(ctx, bson.D{{"_id", r.ID}},
			bson.D{{"$set", bson.D{
				{"p", r.Part},
				{"pad", r.Pad},
				{"at", r.Place},
				{"xy", r.Pair},
				{"text", r.Text},
			}}},
			options.FindOneAndUpdate().SetReturnDocument(which)).Raw()
		return sameDoc(got, err, want)
	})
}

func findAndRemove(ctx context.Context, w *worker) bool {
	r, ok := w.pick()
	if !ok {
		return true
	}
	return w.write(map[string]string{r.ID: absent}, func() error {
		got, err := w.coll().FindOneAndDelete(ctx, bson.D{{"u", r.Unique}}).Raw()
		return sameDoc(got, err, r.state())
	})
}

func sameDoc(got bson.Raw, err error, want string) error {
	if err == nil && !bytes.Equal(got, []byte(want)) {
		return fmt.Errorf("got %s, want %s", got, show(want))
	}
	return err
}

// addShared adds to one of the counters that all workers share.
func addShared(ctx context.Context, w *worker) bool {
	id, by := w.rng.IntN(3), 1+w.rng.Int64N(3)
	w.tried[id] += by
	return w.write(nil, func() error {
		_, err := w.srv.client.Database(workDB).Collection(sharedName).UpdateOne(ctx, bson.D{{"_id", id}},
			bson.D{{"$inc", bson.D{{"n", by}}}}, options.UpdateOne().SetUpsert(true))
		if err == nil {
			w.added[id] += by
		}
		return err
	})
}

// readBack reads all documents of a group, with any index.
func readBack(ctx context.Context, w *worker) bool {
	group := w.rng.Int32N(8)
	want := map[string]string{}
	for _, id := range w.ids() {
		if state := w.docs[id].states[0]; parse(state).Group == group {
			want[id] = state
		}
	}
	return w.write(nil, func() error {
		got, err := readAll(ctx, w.coll(), bson.D{{"w", w.id}, {"g", group}})
		if err != nil {
			return err
		}
		for id, state := range want {
			if got[id] != state {
				return fmt.Errorf("read %s, want %s", show(got[id]), show(state))
			}
		}
		if len(got) != len(want) {
			return fmt.Errorf("read %d documents of group %d, want %d", len(got), group, len(want))
		}
		return nil
	})
}

// readAll returns the matching documents, by _id.
func readAll(ctx context.Context, coll *mongo.Collection, filter bson.D,
	opts ...options.Lister[options.FindOptions],
) (map[string]string, error) {
	cursor, err := coll.Find(ctx, filter, append(opts, options.Find().SetBatchSize(200))...)
	if err != nil {
		return nil, err
	}
	defer cursor.Close(ctx)
	out := map[string]string{}
	for cursor.Next(ctx) {
		id, _ := cursor.Current.Lookup("_id").StringValueOK()
		if _, twice := out[id]; twice {
			return nil, fmt.Errorf("document %s was read twice", id)
		}
		out[id] = string(cursor.Current)
	}
	return out, cursor.Err()
}
