package pcre

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// TestFindAll prints the matches of both engines as start-end, followed by a colon and the groups.
func TestFindAll(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ pattern, options, text, want string }{
		{"ab", "", "abxab", "0-2 3-5"},
		{"^ab", "", "abab", "0-2"},
		{"", "", "", "0-0"},
		{"", "", "aé", "0-0 1-1"},
		{"a*", "", "aab", "0-2 2-2"},
		{"a*", "", "baa", "0-0 1-3"},
		{"(l)(l)?(z)?o", "", "hello lo", "2-5:2-3:3-4:-1--1 6-8:6-7:-1--1:-1--1"},
		{"é(.)", "", "xéyéz", "1-4:3-4 4-7:6-7"},
		{"(?<=x)y", "", "xyy", "1-2"},
		{"(?<=é)(y)", "", "éyéy", "2-3:2-3 5-6:5-6"},
		{`(\w)\1`, "", "aabbc", "0-2:0-1 2-4:2-3"},
		{"b$", "", "ab\n", "1-2"},
		{"^b", "m", "b\nb\n", "0-1 2-3"},
		{"A", "i", "aA", "0-1 1-2"},
		{"x", "", "abc", ""},
		{"(?<n>a)|b", "", "ba", "0-1:-1--1 1-2:1-2"},
		{`\b`, "", "a b", "0-0 1-1 2-2"},
	} {
		re, err := Compile(c.pattern, c.options)
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		first, err := re.Find([]byte(c.text), nil)
		if err != nil {
			t.Fatal(err)
		}
		err = re.FindAll([]byte(c.text), nil, func(m Match) error {
			all = append(all, showMatch(m))
			return nil
		})
		if err != nil || strings.Join(all, " ") != c.want {
			t.Errorf("%q in %q: %v %v, want %s", c.pattern, c.text, all, err, c.want)
		}
		if (first == nil) != (len(all) == 0) || first != nil && showMatch(first) != all[0] {
			t.Errorf("%q in %q: Find %v, FindAll %v", c.pattern, c.text, first, all)
		}
	}
}

func showMatch(m Match) string {
	parts := make([]string, len(m))
	for i, s := range m {
		parts[i] = fmt.Sprintf("%d-%d", s.Start, s.End)
	}
	return strings.Join(parts, ":")
}

func TestFindIsBounded(t *testing.T) {
	t.Parallel()
	re, err := Compile(`(?=(x+x+)+y)x`, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := re.Find([]byte(strings.Repeat("x", 5000)), nil); mongoerr.CodeOf(err) != codeMatchFailed {
		t.Error(err)
	}
}
