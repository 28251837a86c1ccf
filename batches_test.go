package sheaf_test

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/sheaftest"
)

// batchDocuments is the number of documents in the collection that TestBatchesOfClients reads.
const batchDocuments = 80

// TestBatchesOfClients: several clients read batches of all sizes concurrently. All connections
// share the buffers of their replies, so no reply may contain bytes of another reply.
func TestBatchesOfClients(t *testing.T) {
	t.Parallel()
	const clients, reads = 4, 25
	c := sheaftest.New(t).Database("d").Collection("c")
	docs := make([]any, batchDocuments)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range docs {
		docs[i] = bson.D{{"_id", i}, {"p", payload(i, 1<<rng.IntN(16))}}
	}
	if _, err := c.InsertMany(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(2, uint64(client)))
			for range reads {
				readBatches(t, c, rng.IntN(batchDocuments), rng.IntN(batchDocuments)+1, rng.IntN(batchDocuments)+1)
			}
		})
	}
	wg.Wait()
}

func payload(id, size int) []byte { return bytes.Repeat([]byte{byte(id)}, size) }

// readBatches reads up to limit documents in batches, starting at the document from.
func readBatches(t *testing.T, c *mongo.Collection, from, limit, batch int) {
	opts := options.Find().SetSort(bson.D{{"_id", 1}}).SetLimit(int64(limit)).SetBatchSize(int32(batch))
	cursor, err := c.Find(t.Context(), bson.D{{"_id", bson.D{{"$gte", from}}}}, opts)
	if err != nil {
		t.Error(err)
		return
	}
	var got []struct {
		ID int    `bson:"_id"`
		P  []byte `bson:"p"`
	}
	if err := cursor.All(t.Context(), &got); err != nil {
		t.Error(err)
	}
	if want := min(limit, batchDocuments-from); len(got) != want {
		t.Errorf("%d documents from %d on, not %d", len(got), from, want)
	}
	for i, doc := range got {
		if doc.ID != from+i || !bytes.Equal(doc.P, payload(doc.ID, len(doc.P))) {
			t.Errorf("document %d from %d on is %d, with %d bytes", i, from, doc.ID, len(doc.P))
		}
	}
}
