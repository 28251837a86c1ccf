package ledger_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/sheafdb/sheaf/patterns/ledger"
	"github.com/sheafdb/sheaf/patterns/patterntest"
)

// BenchmarkTransfer measures transfers among 1000 accounts, as in the Little book, and transfers
// from all accounts to one.
func BenchmarkTransfer(b *testing.B) {
	const accounts = 1000
	for name, cfg := range engines {
		for _, hot := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/hot=%v", name, hot), func(b *testing.B) {
				l := newLedger(b, patterntest.Open(b), cfg, nil)
				for i := range accounts {
					if err := l.Open(b.Context(), ledger.Account{ID: fmt.Sprint(i), Opening: 1_000_000}); err != nil {
						b.Fatal(err)
					}
				}
				if err := l.EnsureIndexes(b.Context()); err != nil {
					b.Fatal(err)
				}
				var done atomic.Int64
				b.SetParallelism(4)
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						n := int(done.Add(1))
						move := ledger.Move{From: fmt.Sprint(1 + n%(accounts-1)), To: "0", Amount: 100}
						if !hot {
							move.To = fmt.Sprint(1 + (n+accounts/2)%(accounts-1))
						}
						if _, err := l.Transfer(b.Context(), fmt.Sprint("t", n), move); err != nil {
							b.Error(err)
						}
					}
				})
			})
		}
	}
}
