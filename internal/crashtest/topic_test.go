package crashtest

import (
	"context"
	"math/rand/v2"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/internal/torture"
)

const (
	topicPublishers = 4
	topicMax        = 200
)

// topic is a capped collection with several publishers, each of which numbers its messages.
type topic struct{ publishers [topicPublishers]numbers }

// TestKillTopic kills a server while messages are published into a capped collection. After each
// restart it must have the newest messages, with no gap and in the right order for each publisher,
// including every acknowledged message within the limit of the collection.
func TestKillTopic(t *testing.T) {
	torture.SkipShort(t)
	f := &topic{}
	rounds := killRounds(t, topicPublishers, f, newFollower(false))
	t.Logf("%d rounds, %d acknowledged messages", rounds, acknowledged(f.publishers[:]))
}

func (f *topic) prepare(t *testing.T, srv *child) {
	t.Helper()
	create := options.CreateCollection().SetCapped(true).SetSizeInBytes(1 << 20).SetMaxDocuments(topicMax)
	if err := srv.client.Database("d").CreateCollection(t.Context(), "topic", create); err != nil {
		t.Fatal(err)
	}
}

func (f *topic) work(ctx context.Context, t *testing.T, srv *child, client int, _ *rand.Rand) {
	coll := srv.client.Database("d").Collection("topic")
	p := &f.publishers[client]
	for ctx.Err() == nil {
		p.sent++
		_, err := coll.InsertOne(ctx, bson.D{{"p", int32(client)}, {"n", p.sent}})
		if err != nil {
			if !srv.killed.Load() {
				t.Errorf("publisher %d: %v", client, err)
			}
			return
		}
		p.acked = p.sent
	}
}

func (f *topic) verify(t *testing.T, srv *child) {
	t.Helper()
	ctx, coll := t.Context(), srv.client.Database("d").Collection("topic")
	messages, err := readTopic(ctx, coll)
	if err != nil {
		t.Fatal(err)
	}
	if len(messages) > topicMax {
		t.Errorf("%d messages", len(messages))
	}
	if n, err := coll.EstimatedDocumentCount(ctx); err != nil || n != int64(len(messages)) {
		t.Errorf("%d messages are counted, there are %d: %v", n, len(messages), err)
	}
	var last [topicPublishers]int64
	for _, m := range messages {
		if last[m.P] != 0 && m.N != last[m.P]+1 {
			t.Errorf("publisher %d: %d behind %d", m.P, m.N, last[m.P])
		}
		last[m.P] = m.N
	}
	for i, newest := range last {
		p := &f.publishers[i]
		if newest == 0 {
			continue
		}
		if newest < p.acked || newest > p.sent {
			t.Errorf("publisher %d: the newest message is %d; %d was acknowledged, %d sent", i, newest, p.acked, p.sent)
		}
		p.sent = newest // the publisher sends lost messages again
	}
	validate(ctx, t, coll.Database(), "topic")
}

// message is one document of the topic.
type message struct {
	P int32 `bson:"p"`
	N int64 `bson:"n"`
}

func readTopic(ctx context.Context, coll *mongo.Collection) (messages []message, err error) {
	cur, err := coll.Find(ctx, bson.D{}, options.Find().SetSort(bson.D{{"$natural", 1}}))
	if err != nil {
		return nil, err
	}
	return messages, cur.All(ctx, &messages)
}
