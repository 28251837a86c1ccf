package pipeline

import (
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// TestLastWrites checks that only the last stage counts, and that malformed stages do not write.
func TestLastWrites(t *testing.T) {
	t.Parallel()
	out, match := bsonx.NewDoc("$out", "c"), bsonx.NewDoc("$match", bsonx.Empty)
	for _, c := range []struct {
		stages bsonx.Value
		want   bool
	}{
		{bsonx.NewArray(match, out), true},
		{bsonx.NewArray(bsonx.NewDoc("$merge", 1)), true}, // the argument does not matter
		{bsonx.NewArray(out, match), false},
		{bsonx.NewArray(out, 3), false},
		{bsonx.NewArray(out, bsonx.Empty), false},
		{bsonx.NewArray(), false},
		{bsonx.Document(out), false},
		{bsonx.Missing, false},
	} {
		if got := LastWrites(c.stages); got != c.want {
			t.Errorf("%s: %t", bsonx.FormatShell(c.stages), got)
		}
	}
}
