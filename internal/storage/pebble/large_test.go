package pebble

import "testing"

// TestBesideAge checks that a large batch counts until its flush and compaction are surely over.
func TestBesideAge(t *testing.T) {
	t.Parallel()
	clock := standing()
	l := largeBatches{clock: clock}
	l.note(largeBatch)
	l.note(1)
	if clock.Advance(largeAge); l.beside() != largeCopies*largeBatch {
		t.Errorf("%d bytes, want %d", l.beside(), largeCopies*largeBatch)
	}
	if clock.Advance(1); l.beside() != 0 {
		t.Errorf("%d bytes after %v", l.beside(), largeAge)
	}
}
