package sheaf_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf"
)

// snapshotReads are the ways to read from a snapshot. Each counts the documents of c.
var snapshotReads = map[string]func(ctx context.Context, c *mongo.Collection) (int, error){
	"find": func(ctx context.Context, c *mongo.Collection) (int, error) {
		cur, err := c.Find(ctx, bson.D{}, options.Find().SetBatchSize(2))
		return drain(ctx, cur, err)
	},
	"aggregate": func(ctx context.Context, c *mongo.Collection) (int, error) {
		cur, err := c.Aggregate(ctx, bson.A{bson.D{{"$match", bson.D{{"_id", bson.D{{"$gte", 0}}}}}}},
			options.Aggregate().SetBatchSize(2))
		return drain(ctx, cur, err)
	},
	"count": func(ctx context.Context, c *mongo.Collection) (int, error) {
		n, err := c.CountDocuments(ctx, bson.D{})
		return int(n), err
	},
	"lookup": func(ctx context.Context, c *mongo.Collection) (int, error) {
		cur, err := c.Database().Aggregate(ctx, bson.A{
			bson.D{{"$documents", bson.A{bson.D{{"a", 1}}, bson.D{{"a", 2}}}}},
			bson.D{{"$lookup", bson.D{
				{"from", c.Name()}, {"pipeline", bson.A{}}, {"as", "all"},
			}}},
			bson.D{{"$match", bson.D{{"a", 2}}}},
			bson.D{{"$unwind", "$all"}},
		}, options.Aggregate().SetBatchSize(1))
		return drain(ctx, cur, err)
	},
	"distinct": func(ctx context.Context, c *mongo.Collection) (int, error) {
		res := c.Distinct(ctx, "_id", bson.D{})
		var ids []int
		err := res.Decode(&ids)
		return len(ids), err
	},
}

func drain(ctx context.Context, cur *mongo.Cursor, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	var docs []bson.D
	err = cur.All(ctx, &docs)
	return len(docs), err
}

// TestSnapshotSessions reads several times at the same cluster time, while other clients write.
func TestSnapshotSessions(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]string{"memory": sheaf.Memory, "disk": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			client := mustOpen(t, dir, nil).Client()
			c := client.Database("d").Collection("c")
			const before = 7
			for i := range before {
				mustInsert(t, c, i)
			}
			id := before
			for first := range snapshotReads {
				session, err := client.StartSession(options.Session().SetSnapshot(true))
				if err != nil {
					t.Fatal(err)
				}
				ctx := mongo.NewSessionContext(t.Context(), session)
				want := id
				for _, way := range append([]string{first}, slices.Collect(maps.Keys(snapshotReads))...) {
					if n, err := snapshotReads[way](ctx, c); err != nil || n != want {
						t.Errorf("%s after %s: %d documents, want %d: %v", way, first, n, want, err)
					}
					mustInsert(t, c, id)
					id++
				}
				session.EndSession(t.Context())
			}
		})
	}
}

func mustInsert(t *testing.T, c *mongo.Collection, id any) {
	t.Helper()
	if _, err := c.InsertOne(t.Context(), bson.D{{"_id", id}}); err != nil {
		t.Fatal(err)
	}
}

// TestSnapshotCursor reads all batches of a cursor with read concern snapshot. All of them must
// come from one snapshot, whose time the reply names.
func TestSnapshotCursor(t *testing.T) {
	t.Parallel()
	db := mustOpen(t, sheaf.Memory, nil).Client().Database("d")
	c := db.Collection("c")
	for i := range 5 {
		mustInsert(t, c, i)
	}
	type reply struct {
		Cursor struct {
			ID         int64
			FirstBatch []bson.D
			NextBatch  []bson.D
			Time       bson.Timestamp `bson:"atClusterTime"`
		}
		OperationTime bson.Timestamp `bson:"operationTime"`
	}
	run := func(cmd bson.D) (r reply, err error) {
		err = db.RunCommand(t.Context(), cmd).Decode(&r)
		return r, err
	}
	find := func(concern ...bson.E) bson.D {
		return bson.D{
			{"find", "c"},
			{"batchSize", 2},
			{"readConcern", append(bson.D{{"level", "snapshot"}}, concern...)},
		}
	}
	first, err := run(find())
	if err != nil || first.Cursor.Time.IsZero() || len(first.Cursor.FirstBatch) != 2 {
		t.Fatalf("%+v: %v", first, err)
	}
	at := bson.E{"atClusterTime", first.Cursor.Time}
	if _, err := c.UpdateMany(t.Context(), bson.D{}, bson.D{{"$set", bson.D{{"new", 1}}}}); err != nil {
		t.Fatal(err)
	}
	mustInsert(t, c, 5)
	if again, err := run(find(at)); err != nil ||
		fmt.Sprint(again.Cursor.FirstBatch) != fmt.Sprint(first.Cursor.FirstBatch) {
		t.Errorf("at the cursor's time: %+v: %v", again, err)
	}
	more := bson.D{{"getMore", first.Cursor.ID}, {"collection", "c"}}
	next, err := run(more)
	if err != nil || len(next.Cursor.NextBatch) != 3 || len(next.Cursor.NextBatch[2]) != 1 ||
		next.Cursor.Time != first.Cursor.Time {
		t.Errorf("the next batch: %+v: %v", next, err)
	}
	if _, err := run(find(bson.E{"atClusterTime", bson.Timestamp{T: 1, I: 1}})); code(err) != 239 {
		t.Errorf("a time long ago: %v", err)
	}
	last, err := run(find())
	if err != nil || len(last.Cursor.FirstBatch[0]) != 2 {
		t.Errorf("the newest snapshot: %+v: %v", last, err)
	}
	if now, err := run(find(bson.E{"atClusterTime", last.OperationTime})); err != nil ||
		len(now.Cursor.FirstBatch[0]) != 2 {
		t.Errorf("the present time: %+v: %v", now, err)
	}
	if err := db.Drop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := run(find(bson.E{"atClusterTime", last.Cursor.Time})); code(err) != 239 && code(err) != 246 {
		t.Errorf("a dropped collection: %v", err)
	}
}
