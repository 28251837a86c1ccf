package spill

import (
	"encoding/binary"
	"testing"
)

// TestSetSpills adds keys twice, with spills between them.
func TestSetSpills(t *testing.T) {
	t.Parallel()
	var s Set
	defer s.Close()
	dir := t.TempDir()
	for round := range 2 {
		for i := range 3000 {
			fresh, err := s.Add(binary.AppendVarint(nil, int64(i)))
			if err != nil || fresh != (round == 0) {
				t.Fatalf("round %d, key %d: %t, %v", round, i, fresh, err)
			}
			if i%700 == 699 {
				if err := s.Spill(dir); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	s.Reset()
	if fresh, err := s.Add([]byte{0}); !fresh || err != nil {
		t.Error("a key is still there after reset", err)
	}
}
