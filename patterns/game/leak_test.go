package game_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails if a goroutine still runs when all tests have ended.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
