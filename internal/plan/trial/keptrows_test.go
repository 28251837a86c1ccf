package trial

import (
	"bytes"
	"testing"

	"github.com/sheafdb/sheaf/internal/exec"
)

func TestKeptRows(t *testing.T) {
	t.Parallel()
	var k keptRows
	borrowed := exec.Row{RecordKey: []byte{0}, Bits: []byte{}}
	var rows []*exec.Row
	for i := range 300 {
		borrowed.RecordKey[0] = byte(i)
		borrowed.Doc = bytes.Repeat([]byte{byte(i)}, i*i%5000)
		if i%2 == 0 {
			borrowed.Doc = nil
		}
		rows = append(rows, k.keep(&borrowed))
	}
	for i, row := range rows {
		want := bytes.Repeat([]byte{byte(i)}, i*i%5000)
		if row.RecordKey[0] != byte(i) || row.Bits == nil || row.SortKey != nil || cap(row.Bits) != 0 {
			t.Fatalf("row %d: %v", i, row)
		}
		if i%2 == 0 && row.Doc != nil || i%2 == 1 && !bytes.Equal(row.Doc, want) {
			t.Fatalf("document %d: %d bytes, want %d", i, len(row.Doc), len(want))
		}
	}
}
