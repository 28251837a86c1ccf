package adversarial

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// TestMemoryOfAStoreInMemory attacks servers with their data in memory: one has little data, and
// one has more data than its budget. The budget of such a server limits all memory except the data.
// Before the attack, ordinary commands must find room beside the data. For comparison, a third
// server has its data on the disk.
func TestMemoryOfAStoreInMemory(t *testing.T) {
	needsServer(t)
	budget := *workloadBudget << 20
	for _, test := range []struct {
		name      string
		documents int
		onDisk    bool
		most      int64 // memory that the server may take, in percent of the budget
	}{
		{name: "few documents", documents: 1000, most: 125},
		{name: "data larger than the budget", documents: 150_000, most: 125},
		{name: "on the disk", documents: 150_000, onDisk: true, most: 125},
	} {
		t.Run(test.name, func(t *testing.T) {
			store := []string{"--memory"}
			if test.onDisk {
				store = []string{"--dir", filepath.Join(t.TempDir(), "data")}
			}
			c := startServerOn(t, budget, "", store...)
			coll := c.client(t).Database("d").Collection("c")
			fill(t, coll, test.documents)
			ordinary(t, coll)
			c.resetPeak(t)
			before := c.status(t, "VmRSS")
			if test.onDisk {
				before = 0
			}
			explode := bson.D{
				{"aggregate", "c"},
				{"cursor", bson.D{}},
				{"pipeline", bson.A{
					bson.D{{"$limit", 1}},
					bson.D{{"$project", bson.M{"x": bson.M{"$map": bson.D{
						{"input", bson.M{"$range": bson.A{0, 2_000_000}}},
						{"in", bson.M{"a": "$$this", "b": bson.A{"$$this"}}},
					}}}}},
					bson.D{{"$project", bson.M{"n": bson.M{"$size": "$x"}}}},
				}},
			}
			raw, err := bson.Marshal(explode)
			if err != nil {
				t.Fatal(err)
			}
			codes := attackTogether(t, coll.Database(), test.name, bson.Raw(raw))
			peak := c.status(t, "VmHWM")
			t.Logf("%d MiB before, peak %d MiB, %.2f of the budget, codes %s", before>>20, peak>>20,
				float64(peak-before)/float64(budget), fmt.Sprint(codes))
			if peak > before+budget/100*test.most {
				t.Errorf("the server took %d MiB more for a budget of %d MiB", (peak-before)>>20, budget>>20)
			}
			ordinary(t, coll)
		})
	}
}

// fill inserts documents of a kilobyte.
func fill(t *testing.T, coll *mongo.Collection, n int) {
	t.Helper()
	pad := strings.Repeat("x", 1000)
	for i := 0; i < n; i += 1000 {
		batch := make([]bson.D, 1000)
		for k := range batch {
			batch[k] = bson.D{{"_id", i + k}, {"w", k % 8}, {"pad", pad}}
		}
		if _, err := coll.InsertMany(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
}

// ordinary reads all documents, groups them and inserts a large one.
func ordinary(t *testing.T, coll *mongo.Collection) {
	t.Helper()
	group := bson.D{{
		"$group",
		bson.D{{"_id", "$w"}, {"n", bson.D{{"$sum", 1}}}},
	}}
	cursor, err := coll.Aggregate(t.Context(), mongo.Pipeline{group})
	if err != nil {
		t.Fatal(err)
	}
	var groups []bson.D
	if err := cursor.All(t.Context(), &groups); err != nil || len(groups) < 8 {
		t.Errorf("%d groups: %v", len(groups), err)
	}
	if _, err := coll.InsertOne(t.Context(),
		bson.D{{"w", -1}, {"large", strings.Repeat("y", 4<<20)}}); err != nil {
		t.Error(err)
	}
}
