package expr_test

import (
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
)

// TestShownIsBounded formats values of several megabytes, and checks that only the beginning of
// each is shown.
func TestShownIsBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 4<<20)
	numbers := make([]bsonx.Value, 1<<19)
	for i := range numbers {
		numbers[i] = bsonx.Int32(7)
	}
	list := bsonx.ValueOf(numbers)
	for name, v := range map[string]bsonx.Value{
		"string": bsonx.String(long), "array": list, "document": bsonx.Document(list.Doc()),
		"nested":  bsonx.ValueOf([]bsonx.Value{list, list}),
		"name":    bsonx.Document(bsonx.NewDoc(long, 1)),
		"strings": bsonx.ValueOf([]bsonx.Value{bsonx.String(long), bsonx.String(long)}),
		"names":   bsonx.Document(bsonx.NewDoc("a", 1, long, 1, long, 2)),
	} {
		for form, shown := range map[string]string{"Show": expr.Show(v), "FormatShell": bsonx.FormatShell(v)} {
			if len(shown) > 2*bsonx.MaxShown+100 || !strings.Contains(shown, "...") {
				t.Errorf("%s of %s: %d bytes", form, name, len(shown))
			}
		}
	}
}
