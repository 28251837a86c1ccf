package main

import (
	"testing"

	"github.com/sheafdb/sheaf"
)

// TestLimitFiles: with any limit, either the server refuses to start, or the files of the store and
// of the connections stay within the limit.
func TestLimitFiles(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 16, 40, 223, 224, 256, 1024, 4096, 20_000, 1 << 20} {
		o := sheaf.Options{MaxConnections: 1_000_000}
		err := limitFiles(&o, limit)
		if refused := limit < 224; refused != (err != nil) {
			t.Errorf("limit %d: %v", limit, err)
		} else if !refused && (o.MaxOpenFiles+o.MaxConnections+otherFiles > limit ||
			o.MaxConnections < leastConnections) {
			t.Errorf("limit %d: %d files and %d connections", limit, o.MaxOpenFiles, o.MaxConnections)
		}
	}
	o := sheaf.Options{MaxConnections: 5}
	if err := limitFiles(&o, 20_000); err != nil || o.MaxConnections != 5 {
		t.Errorf("%d connections, %v", o.MaxConnections, err)
	}
}
