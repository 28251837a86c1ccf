package pipeline

import (
	"encoding/binary"
	"testing"
)

// TestDigestSetSpills adds keys twice, with spills between them.
func TestDigestSetSpills(t *testing.T) {
	t.Parallel()
	var s digestSet
	defer s.close()
	dir := t.TempDir()
	for round := range 2 {
		for i := range 3000 {
			fresh, err := s.add(binary.AppendVarint(nil, int64(i)))
			if err != nil || fresh != (round == 0) {
				t.Fatalf("round %d, key %d: %t, %v", round, i, fresh, err)
			}
			if i%700 == 699 {
				if err := s.spill(dir); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	s.reset()
	if fresh, err := s.add([]byte{0}); !fresh || err != nil {
		t.Error("a key is still there after reset", err)
	}
}
