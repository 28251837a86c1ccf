package pcre

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/limits"
)

// TestLimits checks the limits of patterns that PCRE2 sets. A pattern has too few bytes for more
// groups than PatternCaptures, so the test refers to such a group instead.
func TestLimits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limit   int
		pattern func(n int) string
		message string
	}{
		"nested groups": {
			limits.PatternGroupDepth,
			func(n int) string { return strings.Repeat("(", n) + strings.Repeat(")", n) },
			"too deeply nested",
		},
		"name of a group": {
			limits.GroupNameCharacters,
			func(n int) string { return "(?<" + strings.Repeat("a", n) + ">b)" },
			"name is too long",
		},
		"number of a group": {
			limits.PatternCaptures,
			func(n int) string { return fmt.Sprintf("a(?%d)", n) },
			"number is too big",
		},
	} {
		for beyond := range 2 {
			_, err := Compile(c.pattern(c.limit+beyond), "")
			if refused := err != nil && strings.Contains(err.Error(), c.message); refused != (beyond == 1) {
				t.Errorf("%s: %d: %v", name, c.limit+beyond, err)
			}
		}
	}
}
