package torture

import (
	"flag"
	"iter"
	"maps"
	"os"
	"slices"
	"strconv"
	"testing"
)

// longVariable is the environment variable that asks for all the work of tests.
const longVariable = "SHEAF_TEST_LONG"

// Long reports whether tests do all of their work. Otherwise slow tests do a part of it, so that
// `go test ./...` ends within minutes.
func Long() bool { return os.Getenv(longVariable) != "" || *long > 0 }

// NeedsLong skips a test unless SHEAF_TEST_LONG asks for all the work of tests. NeedsLong is for
// tests that take several seconds and have no shorter form.
func NeedsLong(tb testing.TB) {
	tb.Helper()
	if !Long() {
		tb.Skip("takes long: set " + longVariable)
	}
}

// SkipShort skips a test with -short, unless tests do all of their work. It is for tests that take
// about a second and have no shorter form.
func SkipShort(tb testing.TB) {
	tb.Helper()
	if testing.Short() && !Long() {
		tb.Skip("not with -short")
	}
}

// Share returns n if tests do one of n parts of their work: 1 for all of it, 8 by default, and 32
// with -short.
func Share() int { return parts(8) }

// parts returns into how many parts a test divides its work to do one of them, if it does one of n
// by default.
func parts(n int) int {
	switch {
	case Long():
		return 1
	case testing.Short():
		return 4 * n
	}
	return n
}

// SetChecks is for TestMain. It reduces the checks of tests with random values like Part, unless
// -rapid.checks sets the number.
func SetChecks() {
	setUnlessGiven("rapid.checks", Part)
}

// setUnlessGiven sets a flag of tests to a number that is computed from its default, unless the
// command line sets the flag.
func setUnlessGiven(name string, value func(byDefault int) int) {
	flag.Parse() // Part asks for -short
	f := flag.Lookup(name)
	if n, err := strconv.Atoi(f.DefValue); err == nil && f.Value.String() == f.DefValue {
		_ = f.Value.Set(strconv.Itoa(value(n)))
	}
}

// Part returns n if tests do all of their work, and otherwise an eighth of n, or a 32nd with
// -short, but at least 1.
func Part(n int) int { return max(n/Share(), 1) }

// Sample reports whether a test does case i of its cases. It does all of them if tests do all of
// their work, otherwise the first of every n, or of every 4*n with -short.
func Sample(i, n int) bool { return i%parts(n) == 0 }

// Some returns the cases of a list that a test does (Sample).
func Some[E any](list []E, n int) (some []E) {
	for i, e := range list {
		if Sample(i, n) {
			some = append(some, e)
		}
	}
	return some
}

// SomeOf returns the cases of a map that a test does (Sample), sorted by name.
func SomeOf[E any](all map[string]E, n int) iter.Seq2[string, E] {
	return func(yield func(string, E) bool) {
		for _, name := range Some(slices.Sorted(maps.Keys(all)), n) {
			if !yield(name, all[name]) {
				return
			}
		}
	}
}

// Overlap is for TestMain of packages whose tests mostly wait. It lets n parallel tests run at the
// same time, unless -parallel sets the number. By default as many run as there are processors.
func Overlap(n int) {
	setUnlessGiven("test.parallel", func(int) int { return n })
}
