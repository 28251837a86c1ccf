package command_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// txnPlaceholder is a transaction number in a request. sendInTransaction replaces it by the number
// of a new transaction.
const txnPlaceholder = int64(0x7172737475767778)

// numbered is a request in a transaction. at is the offset of its transaction number.
type numbered struct {
	*request
	at int
}

func newNumbered(start bool, pairs ...any) *numbered {
	pairs = append(pairs,
		"lsid", bsonx.NewDoc("id", bsonx.Binary(4, []byte("0123456789abcdef"))), "txnNumber",
		txnPlaceholder, "autocommit", false)
	if start {
		pairs = append(pairs, "startTransaction", true)
	}
	r := newRequest(bsonx.NewDoc(pairs...), "")
	return &numbered{r, bytes.Index(r.raw, binary.LittleEndian.AppendUint64(nil, uint64(txnPlaceholder)))}
}

func (h *hotPath) sendInTransaction(r *numbered, txn int64, n int) {
	binary.LittleEndian.PutUint64(r.raw[r.at:], uint64(txn))
	h.sendNumber(r.request, n)
}

// BenchmarkTransactions measures two updates, each alone and both in a transaction.
func BenchmarkTransactions(b *testing.B) {
	const documents = 10_000
	statement := bsonx.NewDoc("q", bsonx.NewDoc("_id", placeholder), "u", bsonx.NewDoc("$inc", bsonx.NewDoc("k", 1)))
	update := []any{"update", "c", "updates", []bsonx.Doc{statement}, "$db", "db"}
	b.Run("Alone", func(b *testing.B) {
		h := newSetPath(b)
		h.fill(documents)
		r := newRequest(bsonx.NewDoc(update...), "")
		b.ReportAllocs()
		for i := 0; b.Loop(); i += 2 {
			h.sendNumber(r, i*7919%documents)
			h.sendNumber(r, (i+1)*7919%documents)
		}
	})
	b.Run("Together", func(b *testing.B) {
		h := newSetPath(b)
		h.fill(documents)
		first, second := newNumbered(true, update...), newNumbered(false, update...)
		commit := newNumbered(false, "commitTransaction", 1, "$db", "admin")
		b.ReportAllocs()
		txn := int64(0)
		for i := 0; b.Loop(); i += 2 {
			txn++
			h.sendInTransaction(first, txn, i*7919%documents)
			h.sendInTransaction(second, txn, (i+1)*7919%documents)
			h.sendInTransaction(commit, txn, 0)
		}
	})
}
