package sheaftest_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/sheaftest"
)

func TestNewIsIsolated(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	a, b := sheaftest.New(t), sheaftest.New(t)
	if _, err := a.Database("d").Collection("c").InsertOne(ctx, bson.D{{"_id", 1}}); err != nil {
		t.Fatal(err)
	}
	n, err := b.Database("d").Collection("c").CountDocuments(ctx, bson.D{})
	if err != nil || n != 0 {
		t.Fatalf("the other database has %d documents, error %v", n, err)
	}
}

// BenchmarkNew measures how long a test waits for a new database. It should take less than 5 ms.
func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		if err := sheaftest.New(b).Ping(b.Context(), nil); err != nil {
			b.Fatal(err)
		}
	}
}
