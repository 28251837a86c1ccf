package server

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/sheafdb/sheaf/internal/torture"
)

// TestMain fails if a goroutine still runs when all tests have ended.
func TestMain(m *testing.M) {
	torture.Overlap(8)
	goleak.VerifyTestMain(m)
}
