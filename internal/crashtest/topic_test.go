package crashtest

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

const (
	topicPublishers = 4
	topicMax        = 200
)

// topic is a capped collection with several publishers, each of which numbers its messages.
type topic struct {
	t *testing.T
	// acked and sent are the newest numbers of each publisher; they differ where a message was not acknowledged.
	acked, sent [topicPublishers]int64
}

// TestKillTopic kills a server while messages are published into a capped collection. After each restart it has the newest
// ones, in the order of each publisher without a gap, among them every acknowledged one that is not older than the limit.
func TestKillTopic(t *testing.T) {
	rng := rand.New(rand.NewPCG(rand.Uint64(), 1))
	dir := t.TempDir()
	srv := start(t, dir)
	create := options.CreateCollection().SetCapped(true).SetSizeInBytes(1 << 20).SetMaxDocuments(topicMax)
	if err := srv.client.Database("d").CreateCollection(t.Context(), "topic", create); err != nil {
		t.Fatal(err)
	}
	f := &topic{t: t}
	round := 0
	for begin := time.Now(); round < max(*rounds, 3) && (*rounds > 0 || time.Since(begin) < patience/2); round++ {
		f.load(srv, time.Duration(100+rng.IntN(300))*time.Millisecond)
		srv = start(t, dir)
		f.verify(srv.client.Database("d").Collection("topic"))
	}
	srv.stop()
	total := int64(0)
	for _, n := range f.acked {
		total += n
	}
	t.Logf("%d rounds, %d acknowledged messages", round, total)
}

// load publishes for some time and kills the server.
func (f *topic) load(srv *child, d time.Duration) {
	coll := srv.client.Database("d").Collection("topic")
	ctx, cancel := context.WithCancel(f.t.Context())
	defer cancel()
	var wg sync.WaitGroup
	for p := range topicPublishers {
		wg.Go(func() {
			for ctx.Err() == nil {
				f.sent[p]++
				_, err := coll.InsertOne(ctx, bson.D{{Key: "p", Value: int32(p)}, {Key: "n", Value: f.sent[p]}})
				if err != nil {
					if !srv.killed.Load() {
						f.t.Errorf("publisher %d: %v", p, err)
					}
					return
				}
				f.acked[p] = f.sent[p]
			}
		})
	}
	time.Sleep(d)
	srv.kill()
	cancel()
	wg.Wait()
	srv.disconnect()
}

func (f *topic) verify(coll *mongo.Collection) {
	f.t.Helper()
	ctx := f.t.Context()
	messages, err := readTopic(ctx, coll)
	if err != nil {
		f.t.Fatal(err)
	}
	if len(messages) > topicMax {
		f.t.Errorf("%d messages", len(messages))
	}
	if n, err := coll.EstimatedDocumentCount(ctx); err != nil || n != int64(len(messages)) {
		f.t.Errorf("%d messages are counted, there are %d: %v", n, len(messages), err)
	}
	var last [topicPublishers]int64
	for _, m := range messages {
		if last[m.P] != 0 && m.N != last[m.P]+1 {
			f.t.Errorf("publisher %d: %d behind %d", m.P, m.N, last[m.P])
		}
		last[m.P] = m.N
	}
	for p := range last {
		if last[p] != 0 && (last[p] < f.acked[p] || last[p] > f.sent[p]) {
			f.t.Errorf("publisher %d: the newest message is %d; %d was acknowledged, %d sent", p, last[p], f.acked[p], f.sent[p])
		}
		if last[p] != 0 {
			f.sent[p] = last[p] // what was lost may be sent again
		}
	}
	var valid struct{ Valid bool }
	if err := coll.Database().RunCommand(ctx, bson.D{{Key: "validate", Value: "topic"}, {Key: "full", Value: true}}).Decode(&valid); err != nil || !valid.Valid {
		f.t.Errorf("validate: %+v %v", valid, err)
	}
}

// message is one document of the topic.
type message struct {
	P int32 `bson:"p"`
	N int64 `bson:"n"`
}

func readTopic(ctx context.Context, coll *mongo.Collection) (messages []message, err error) {
	cur, err := coll.Find(ctx, bson.D{}, options.Find().SetSort(bson.D{{Key: "$natural", Value: 1}}))
	if err != nil {
		return nil, err
	}
	return messages, cur.All(ctx, &messages)
}
