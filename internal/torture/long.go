package torture

import (
	"flag"
	"os"
	"testing"
)

// longVariable is the environment variable that asks for tests at length.
const longVariable = "SHEAF_TEST_LONG"

// Long reports whether tests do all of their work. Otherwise those that take several seconds do a
// part of it, so that `go test ./...` is done within minutes.
func Long() bool { return os.Getenv(longVariable) != "" || *long > 0 }

// NeedsLong skips a test unless tests do all of their work. It is for those that take several
// seconds and have no shorter form.
func NeedsLong(tb testing.TB) {
	tb.Helper()
	if !Long() {
		tb.Skip("takes long: set " + longVariable)
	}
}

// SetChecks is for TestMain. Tests with random values do a quarter of their checks then, unless
// they do all of their work, or -rapid.checks says how many.
func SetChecks() {
	if !Long() {
		_ = flag.Set("rapid.checks", "25")
	}
}

// Part returns n if tests do all of their work, otherwise a quarter of n, at least 1.
func Part(n int) int {
	if Long() {
		return n
	}
	return max(n/4, 1)
}
