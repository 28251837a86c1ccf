package sheaftest_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/sheaftest"
)

func TestNewIsIsolated(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	a, b := sheaftest.New(t), sheaftest.New(t)
	if _, err := a.Database("d").Collection("c").InsertOne(ctx, bson.D{{Key: "_id", Value: 1}}); err != nil {
		t.Fatal(err)
	}
	n, err := b.Database("d").Collection("c").CountDocuments(ctx, bson.D{})
	if err != nil || n != 0 {
		t.Fatalf("the other database has %d documents, error %v", n, err)
	}
}

// TestNewIsFast guards the promise of under 5 ms for a database, on average and with room for a busy machine.
func TestNewIsFast(t *testing.T) {
	const rounds = 20
	start := time.Now()
	for range rounds {
		t.Run("round", func(t *testing.T) {
			client := sheaftest.New(t)
			if err := client.Ping(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
		})
	}
	if each := time.Since(start) / rounds; each > 20*time.Millisecond {
		t.Errorf("a database took %v", each)
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		if err := sheaftest.New(b).Ping(b.Context(), nil); err != nil {
			b.Fatal(err)
		}
	}
}
