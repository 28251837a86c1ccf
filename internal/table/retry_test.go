package table_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/sheafdb/sheaf/internal/table"
)

// TestRetryOn checks that a step runs again only for the given error, also if the error is wrapped.
func TestRetryOn(t *testing.T) {
	steps := 0
	err := table.RetryOn(table.ErrDropped, func() error {
		steps++
		switch steps {
		case 1:
			return table.ErrDropped
		case 2:
			return fmt.Errorf("wrapped: %w", table.ErrDropped)
		}
		return table.ErrChanged
	})
	if steps != 3 || !errors.Is(err, table.ErrChanged) {
		t.Errorf("%d steps, then %v", steps, err)
	}
	if err := table.RetryOn(table.ErrChanged, func() error { return nil }); err != nil {
		t.Error(err)
	}
}
