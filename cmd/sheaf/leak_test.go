package main

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// asSheaf is the environment variable that makes the test binary run the function main of sheaf.
const asSheaf = "TEST_RUNS_SHEAF"

// TestMain is the program if asSheaf is set. Otherwise it runs the tests, and fails if a goroutine
// still runs when they have ended.
func TestMain(m *testing.M) {
	if os.Getenv(asSheaf) != "" {
		main()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
