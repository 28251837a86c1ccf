package torture

import (
	"flag"
	"os"
	"testing"
)

// longVariable is the environment variable that asks for all the work of tests.
const longVariable = "SHEAF_TEST_LONG"

// Long reports whether tests do all of their work. Otherwise slow tests do a part of it, so that
// `go test ./...` ends within minutes.
func Long() bool { return os.Getenv(longVariable) != "" || *long > 0 }

// NeedsLong skips a test unless tests do all of their work. It is for tests that take several
// seconds and have no shorter form.
func NeedsLong(tb testing.TB) {
	tb.Helper()
	if !Long() {
		tb.Skip("takes long: set " + longVariable)
	}
}

// SetChecks is for TestMain. It reduces the checks of tests with random values to a quarter, unless
// tests do all of their work, or -rapid.checks sets the number.
func SetChecks() {
	if !Long() {
		_ = flag.Set("rapid.checks", "25")
	}
}

// Part returns n if tests do all of their work, and otherwise a quarter of n, but at least 1.
func Part(n int) int {
	if Long() {
		return n
	}
	return max(n/4, 1)
}
