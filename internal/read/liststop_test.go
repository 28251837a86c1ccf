package read

import (
	"context"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// TestListStops interrupts IsDone while it skips documents of a long list. The list must not count
// as ended then.
func TestListStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	made := 0
	src := &ListSource{List: List{N: 1000, At: func(i int) (bsonx.Doc, error) {
		if made++; i == 9 {
			cancel()
		}
		return nil, nil
	}}}
	if src.IsDone(ctx) {
		t.Error("the list is at its end, though it was not read")
	}
	if made != 10 {
		t.Errorf("%d documents were made, want 10", made)
	}
	first := &ListSource{List: ListOf([]bsonx.Doc{bsonx.NewDoc("a", 1), bsonx.NewDoc("a", 2)})}
	if doc, err := first.Next(t.Context()); err != nil || !doc.Equal(bsonx.NewDoc("a", 1)) || first.IsDone(ctx) {
		t.Errorf("%v, %v, or the list is at its end", doc, err)
	}
	if doc, err := first.Next(t.Context()); err != nil || !doc.Equal(bsonx.NewDoc("a", 2)) {
		t.Errorf("after the end was looked for: %v, %v", doc, err)
	}
	if !src.IsDone(t.Context()) || made < 1000 {
		t.Errorf("the list is not at its end after %d documents", made)
	}
}
