package sheaf_test

import (
	"context"
	"fmt"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/sheafdb/sheaf"
)

// durableCommand is a command that writes documents.
type durableCommand struct {
	name string
	run  func(ctx context.Context, c *mongo.Collection, i int) error
	// standalone says that a standalone server supports the command, too.
	standalone bool
}

// durableCommands lists the commands that write documents.
var durableCommands = []durableCommand{
	{"insert", func(ctx context.Context, c *mongo.Collection, i int) error {
		_, err := c.InsertOne(ctx, bson.D{{"_id", i}})
		return err
	}, true},
	{"insert of many", func(ctx context.Context, c *mongo.Collection, i int) error {
		var docs []bson.D
		for j := range 20 {
			docs = append(docs, bson.D{{"_id", 1000*(i+1) + j}})
		}
		_, err := c.InsertMany(ctx, docs)
		return err
	}, true},
	{"update", func(ctx context.Context, c *mongo.Collection, i int) error {
		_, err := c.UpdateOne(ctx, bson.D{{"_id", "a"}}, bson.D{{"$set", bson.D{{"n", i}}}})
		return err
	}, true},
	{"update of many", func(ctx context.Context, c *mongo.Collection, i int) error {
		_, err := c.UpdateMany(ctx, bson.D{}, bson.D{{"$set", bson.D{{"m", i}}}})
		return err
	}, true},
	{"upsert", func(ctx context.Context, c *mongo.Collection, i int) error {
		_, err := c.ReplaceOne(ctx, bson.D{{"_id", fmt.Sprint("u", i)}}, bson.D{}, options.Replace().SetUpsert(true))
		return err
	}, true},
	{"findAndModify", func(ctx context.Context, c *mongo.Collection, i int) error {
		return c.FindOneAndUpdate(ctx, bson.D{{"_id", "a"}}, bson.D{{"$set", bson.D{{"f", i}}}}).Err()
	}, true},
	{"delete", func(ctx context.Context, c *mongo.Collection, i int) error {
		_, err := c.DeleteOne(ctx, bson.D{{"_id", i}})
		return err
	}, true},
	{"delete of many", func(ctx context.Context, c *mongo.Collection, i int) error {
		_, err := c.DeleteMany(ctx, bson.D{{"_id", bson.D{{"$gte", 1000 * (i + 1)}, {"$lt", 1000 * (i + 2)}}}})
		return err
	}, true},
	{"bulkWrite", func(ctx context.Context, c *mongo.Collection, i int) error {
		var models []mongo.WriteModel
		for j := range 10 {
			models = append(models, mongo.NewInsertOneModel().SetDocument(bson.D{{"_id", fmt.Sprint("b", i, "-", j)}}))
		}
		_, err := c.BulkWrite(ctx, models)
		return err
	}, true},
	{"$merge", func(ctx context.Context, c *mongo.Collection, i int) error {
		cursor, err := c.Aggregate(ctx, bson.A{
			bson.D{{"$match", bson.D{{"_id", "a"}}}},
			bson.D{{"$set", bson.D{{"_id", fmt.Sprint(c.Name(), i)}}}},
			bson.D{{"$merge", "merged"}},
		})
		if err != nil {
			return err
		}
		return cursor.Close(ctx)
	}, true},
	{"commitTransaction", func(ctx context.Context, c *mongo.Collection, i int) error {
		s, err := c.Database().Client().StartSession()
		if err != nil {
			return err
		}
		defer s.EndSession(ctx)
		_, err = s.WithTransaction(ctx, func(ctx context.Context) (any, error) {
			_, err := c.InsertOne(ctx, bson.D{{"_id", fmt.Sprint("t", i)}})
			if err == nil {
				_, err = c.InsertOne(ctx, bson.D{{"_id", fmt.Sprint("s", i)}})
			}
			return nil, err
		}, options.Transaction().SetWriteConcern(sessionConcern(c)))
		return err
	}, false},
}

// sessionConcern returns the write concern with which a collection was opened. Its transactions do
// not inherit it.
func sessionConcern(c *mongo.Collection) *writeconcern.WriteConcern {
	switch c.Name() {
	case "w1":
		return writeconcern.W1()
	case "journaled":
		return writeconcern.Journaled()
	case "majority":
		return writeconcern.Majority()
	default:
		return nil
	}
}

// TestSyncs counts the fsyncs of each command that writes, for each write concern and sync policy.
// A command that must be durable makes at least one fsync, however many documents it writes. Any
// other command makes none.
func TestSyncs(t *testing.T) {
	t.Parallel()
	no := false
	concerns := []struct {
		name string
		wc   *writeconcern.WriteConcern
	}{
		{"none", nil},
		{"w1", writeconcern.W1()},
		{"journaled", writeconcern.Journaled()},
		{"majority", writeconcern.Majority()},
		{"unjournaled", &writeconcern.WriteConcern{W: "majority", Journal: &no}},
	}
	for _, p := range []struct {
		name string
		opts sheaf.Options
		// synced holds the write concerns whose commands wait for the disk.
		synced map[string]bool
	}{
		{"default", sheaf.Options{}, map[string]bool{"none": true, "journaled": true, "majority": true}},
		{"on request", sheaf.Options{Sync: sheaf.SyncOnRequest}, map[string]bool{"journaled": true, "majority": true}},
		{"never", sheaf.Options{Sync: sheaf.SyncNever}, nil},
		{"standalone", sheaf.Options{Standalone: true}, map[string]bool{"journaled": true, "majority": true}},
	} {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			db, err := sheaf.Open(t.TempDir(), &p.opts)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			for _, concern := range concerns {
				c := db.Client().Database("test").
					Collection(concern.name, options.Collection().SetWriteConcern(concern.wc))
				for _, name := range []string{concern.name, "merged"} {
					_, err := db.Client().Database("test").Collection(name).UpdateOne(t.Context(), bson.D{{"_id", "a"}},
						bson.D{{"$set", bson.D{{"x", 1}}}}, options.UpdateOne().SetUpsert(true))
					if err != nil {
						t.Fatal(err)
					}
				}
				for _, command := range durableCommands {
					if p.opts.Standalone && !command.standalone ||
						concern.name == "unjournaled" && !command.standalone {
						continue
					}
					const times = 3
					want := int64(0)
					if p.synced[concern.name] {
						want = times
					}
					// A flush of a full memtable adds fsyncs while the commands run, so the
					// count can be too high. It is right in the next try.
					n, start := int64(-1), 0
					for try := 0; try < 3 && (n < want || n > 2*want); try++ {
						before := sheaf.Fsyncs(db)
						for i := range times {
							if err := command.run(t.Context(), c, start+i); err != nil {
								t.Fatalf("%s, %s: %v", concern.name, command.name, err)
							}
						}
						n, start = sheaf.Fsyncs(db)-before, start+times
					}
					// A command that makes several commits syncs once.
					if n < want || n > 2*want {
						t.Errorf("%s, %s: %d fsyncs of %d commands", concern.name, command.name, n, times)
					}
				}
			}
		})
	}
}

// TestAnnouncedDefault: getDefaultRWConcern reports the write concern that follows from the sync
// policy, and setDefaultRWConcern changes which writes are synced.
func TestAnnouncedDefault(t *testing.T) {
	t.Parallel()
	for policy, want := range map[sheaf.SyncPolicy]any{
		sheaf.SyncDefault: "majority", sheaf.SyncOnRequest: int32(1),
		sheaf.SyncAlways: "majority", sheaf.SyncNever: int32(1),
	} {
		db, err := sheaf.Open(t.TempDir(), &sheaf.Options{Sync: policy})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		admin := db.Client().Database("admin")
		var reply struct {
			DefaultWriteConcern       struct{ W any }
			DefaultWriteConcernSource string
		}
		if err := admin.RunCommand(t.Context(), bson.D{{"getDefaultRWConcern", 1}}).Decode(&reply); err != nil {
			t.Fatal(err)
		}
		if reply.DefaultWriteConcern.W != want || reply.DefaultWriteConcernSource != "implicit" {
			t.Errorf("policy %d announces %+v", policy, reply)
		}
		if policy != sheaf.SyncDefault && policy != sheaf.SyncOnRequest {
			continue
		}
		c := db.Client().Database("test").Collection("c")
		other, n := bson.E{"w", 1}, int64(0)
		if policy == sheaf.SyncOnRequest {
			other, n = bson.E{"w", "majority"}, 1
		}
		if err := admin.RunCommand(t.Context(), bson.D{
			{"setDefaultRWConcern", 1}, {"defaultWriteConcern", bson.D{other}},
		}).Err(); err != nil {
			t.Fatal(err)
		}
		if err := db.Client().Database("test").CreateCollection(t.Context(), "c"); err != nil {
			t.Fatal(err)
		}
		before := sheaf.Fsyncs(db)
		if _, err := c.InsertOne(t.Context(), bson.D{}); err != nil {
			t.Fatal(err)
		}
		if got := sheaf.Fsyncs(db) - before; got != n {
			t.Errorf("after setDefaultRWConcern of %v an insert makes %d fsyncs", other, got)
		}
	}
}

// TestDurableTimeIsMeasured: the durable time of replSetGetStatus is the time of the last synced
// commit.
func TestDurableTimeIsMeasured(t *testing.T) {
	t.Parallel()
	db, err := sheaf.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	type optime struct{ TS bson.Timestamp }
	times := func() (applied, durable bson.Timestamp) {
		var status struct {
			Optimes struct {
				AppliedOpTime optime `bson:"appliedOpTime"`
				DurableOpTime optime `bson:"durableOpTime"`
			}
		}
		err := db.Client().Database("admin").RunCommand(t.Context(), bson.D{{"replSetGetStatus", 1}}).Decode(&status)
		if err != nil {
			t.Fatal(err)
		}
		return status.Optimes.AppliedOpTime.TS, status.Optimes.DurableOpTime.TS
	}
	insert := func(wc *writeconcern.WriteConcern) {
		t.Helper()
		c := db.Client().Database("test").Collection("c", options.Collection().SetWriteConcern(wc))
		if _, err := c.InsertOne(t.Context(), bson.D{}); err != nil {
			t.Fatal(err)
		}
	}
	insert(nil)
	if applied, durable := times(); applied != durable || applied.T == 0 {
		t.Errorf("after a synced write %v is applied, %v durable", applied, durable)
	}
	_, before := times()
	for range 3 {
		insert(writeconcern.W1())
	}
	applied, durable := times()
	if !durable.Before(applied) || durable.Before(before) {
		t.Errorf("after writes with w: 1 %v is applied, %v durable, %v was", applied, durable, before)
	}
	insert(writeconcern.Journaled())
	if applied, durable := times(); applied != durable {
		t.Errorf("after another synced write %v is applied, %v durable", applied, durable)
	}
}
