package sheaf_test

import (
	"fmt"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf"
)

// BenchmarkServerStatus measures the command that mongostat runs each second, on a store with many
// collections.
func BenchmarkServerStatus(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		b.Run(fmt.Sprint(n, "collections"), func(b *testing.B) {
			db, err := sheaf.Open(b.TempDir(), &sheaf.Options{Standalone: true, Sync: sheaf.SyncNever})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			client := db.Client()
			for i := range n {
				if err := client.Database("d").CreateCollection(b.Context(), fmt.Sprint("c", i)); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				if err := client.Database("admin").
					RunCommand(b.Context(), bson.D{{"serverStatus", 1}}).Err(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
