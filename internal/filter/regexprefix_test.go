package filter

import (
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// TestPrefixHolds combines pattern pieces in all ways and matches the patterns with all short
// texts. Every match must begin with the prefix. If the prefix is exact, every text that begins
// with it must match.
func TestPrefixHolds(t *testing.T) {
	t.Parallel()
	texts := allOf([]string{"", "a", "b", "é", "#", "*"}, 2)
	pieces := []string{
		"a", "b", "é", `\.`, `\E`, `\Qb\E`, `\Qb*`, `\Q\E`, "(?#x)", "#x\n", "#", " ", "\u0085", "\u00a0", "*", "?",
		"{0}", "{1", "+", ".", "$", "^",
		"[b]", "(b)", "(?:)", "(?i)", "(?x)", "|", `\b`, `\K`, "(?C1)",
	}
	compiled, bounded := 0, 0
	for _, options := range []string{"", "x"} {
		for _, body := range allOf(pieces, 3) {
			re, err := newRegex("a", "^"+body, options)
			if err != nil {
				continue
			}
			compiled++
			if prefix, _ := re.Prefix(); prefix != "" {
				bounded++
			}
			checkPrefix(t, re, texts)
		}
	}
	if compiled < 10000 || bounded < 1000 {
		t.Errorf("of %d patterns %d have a prefix", compiled, bounded)
	}
}

func checkPrefix(t *testing.T, re *Regex, texts []string) {
	t.Helper()
	prefix, exact := re.Prefix()
	for _, text := range texts {
		matches, err := (&Filter{Root: re}).Match(bsonx.NewDoc("a", text))
		if err != nil {
			t.Fatalf("%q %s: %v", re.Pattern, re.Options, err)
		}
		switch begins := strings.HasPrefix(text, prefix); {
		case matches && !begins:
			t.Fatalf("%q %s: matches %q, which does not begin with %q", re.Pattern, re.Options, text, prefix)
		case exact && begins && !matches:
			t.Fatalf("%q %s: does not match %q, which begins with %q", re.Pattern, re.Options, text, prefix)
		}
	}
}

// allOf returns all concatenations of n pieces.
func allOf(pieces []string, n int) []string {
	if n == 0 {
		return []string{""}
	}
	var out []string
	for _, rest := range allOf(pieces, n-1) {
		for _, piece := range pieces {
			out = append(out, piece+rest)
		}
	}
	return out
}
