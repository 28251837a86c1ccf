package adversarial

import (
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// TestMemoryOfLargeDocuments inserts documents of 15 MiB that cannot be compressed, three in a
// message. The server is built once like a release, and once with C. It must accept all documents,
// and its memory must stay within a limit.
func TestMemoryOfLargeDocuments(t *testing.T) {
	needsServer(t)
	budget := *workloadBudget << 20
	for _, kind := range []struct {
		name  string
		build func() (string, error)
		most  int64 // memory that the server may take, in percent of the budget
	}{{"release", buildServer, 150}, {"with C", buildWithC, 150}} {
		t.Run(kind.name, func(t *testing.T) {
			if _, err := exec.LookPath("gcc"); err != nil && kind.name == "with C" {
				t.Skip("needs gcc")
			}
			bin, err := kind.build()
			if err != nil {
				t.Fatal(err)
			}
			c := serve(t, bin, budget, "", "--dir", filepath.Join(t.TempDir(), "data"))
			coll := c.client(t).Database("d").Collection("c")
			random := rand.NewChaCha8([32]byte{})
			messages := 3
			if *long {
				messages = 20
			}
			for n := range messages {
				docs := many(3, func(i int) any {
					x := make([]byte, 15<<20)
					_, _ = random.Read(x)
					return bson.D{{"_id", n*3 + i}, {"x", x}}
				})
				if _, err := coll.InsertMany(t.Context(), docs); err != nil {
					t.Errorf("message %d: %v", n, err)
				}
			}
			peak := c.status(t, "VmHWM")
			t.Logf("peak %d MiB, %.2f of the budget", peak>>20, float64(peak)/float64(budget))
			if peak > budget/100*kind.most {
				t.Errorf("the server took %d MiB of a budget of %d MiB", peak>>20, budget>>20)
			}
		})
	}
}
