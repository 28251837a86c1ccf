package trial

import "github.com/sheafdb/sheaf/internal/exec"

// The limits of the pieces of memory of a keptRows. They are small because on average half of the
// last piece is wasted.
const (
	maxRowsPerPiece  = 8
	maxBytesPerPiece = 8 << 10
)

// keptRows owns copies of the rows of a trial, in pieces of memory that grow. A trial of many rows
// needs few pieces. A piece can be freed after the last of its rows was yielded.
type keptRows struct {
	rows  []exec.Row
	bytes []byte
	total int
}

// keep returns a copy of a row. The copy stays valid.
func (k *keptRows) keep(row *exec.Row) *exec.Row {
	if len(k.rows) == cap(k.rows) {
		k.rows = make([]exec.Row, 0, min(max(1, 2*cap(k.rows)), maxRowsPerPiece))
	}
	size := len(row.RecordKey) + len(row.Doc) + len(row.Key) + len(row.Bits) + len(row.SortKey)
	k.total += size
	if size > cap(k.bytes)-len(k.bytes) {
		k.bytes = make([]byte, 0, max(size, min(2*cap(k.bytes), maxBytesPerPiece)))
	}
	k.rows = append(k.rows, exec.Row{
		RecordKey: k.copy(row.RecordKey), Doc: k.copy(row.Doc), Index: row.Index, Key: k.copy(row.Key),
		Bits: k.copy(row.Bits), SortKey: k.copy(row.SortKey),
	})
	return &k.rows[len(k.rows)-1]
}

// copy copies b. It returns nil if b is nil, and a slice that is not nil if b is empty.
func (k *keptRows) copy(b []byte) []byte {
	if b == nil {
		return nil
	}
	start := len(k.bytes)
	k.bytes = append(k.bytes, b...)
	return k.bytes[start:len(k.bytes):len(k.bytes)]
}
