package pcre

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// TestEdges matches patterns with several texts, and prints all matches and captures. The input
// contains one pattern per line. The output is "not implemented" for a valid pattern that neither
// engine supports.
func TestEdges(t *testing.T) {
	t.Parallel()
	texts := []string{"ab", "aabbaab", "ba b\nabcab\n", "AaBb", "é1α \r\nb"}
	datadriven.RunTest(t, "testdata/edges", func(_ *testing.T, d *datadriven.TestData) string {
		var b strings.Builder
		for pattern := range strings.SplitSeq(d.Input, "\n") {
			fmt.Fprintf(&b, "%s -> %s\n", pattern, findAllIn(pattern, texts))
		}
		return b.String()
	})
}

func findAllIn(pattern string, texts []string) string {
	re, err := Compile(pattern, "")
	switch {
	case mongoerr.CodeOf(err) == mongoerr.NotImplemented:
		return "not implemented"
	case err != nil:
		return fmt.Sprintf("error %d: %s", mongoerr.CodeOf(err), Reason(err))
	}
	results := make([]string, len(texts))
	for i, text := range texts {
		var all []string
		err := re.FindAll([]byte(text), nil, func(m Match) error {
			all = append(all, quoteMatch(text, m))
			return nil
		})
		if err != nil {
			return err.Error()
		}
		if found, err := re.Match([]byte(text), nil); err != nil || found != (len(all) > 0) {
			return fmt.Sprintf("Match %v, %v; FindAll %v", found, err, all)
		}
		results[i] = strings.Join(all, " ")
	}
	return strings.TrimRight(strings.Join(results, " / "), "/ ")
}

func quoteMatch(text string, m Match) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d%q", len([]rune(text[:m[0].Start])), text[m[0].Start:m[0].End])
	for _, group := range m[1:] {
		if group.Start < 0 {
			b.WriteString(":-")
		} else {
			fmt.Fprintf(&b, ":%q", text[group.Start:group.End])
		}
	}
	return b.String()
}
