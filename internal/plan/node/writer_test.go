package node

import (
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/limits"
)

// TestFits checks the size limits of explain, for a tree and for a whole reply.
func TestFits(t *testing.T) {
	t.Parallel()
	for used, most := range map[int]int{
		0:                         limits.ExplainTreeBytes,
		limits.ExplainBytes - 100: 100,
	} {
		w := NewWriter(t.Context(), bsonx.NewBuilder(nil), nil, used, 0)
		if !w.Fits(most) {
			t.Errorf("%d bytes do not fit beside %d", most, used)
		}
		if w.Fits(most + 1) {
			t.Errorf("%d bytes fit beside %d", most+1, used)
		}
	}
}
