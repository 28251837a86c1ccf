package patterns_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	exampleFunc = regexp.MustCompile(`(?m)^func Example`)
	spaces      = regexp.MustCompile(`\s+(// ?)?`)
)

// TestEveryPackageIsAChapter: a newcomer finds the same parts in the text of each package, and an Example.
func TestEveryPackageIsAChapter(t *testing.T) {
	nested, err := filepath.Glob("*/*/doc.go")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*/doc.go")
	if err != nil {
		t.Fatal(err)
	}
	chapters := 0
	for _, file := range append(files, nested...) {
		dir := filepath.ToSlash(filepath.Dir(file))
		if dir == "patterntest" || strings.HasPrefix(dir, "internal/") {
			continue
		}
		chapters++
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := string(content)
		for _, part := range []string{"The problem", "Operations", "Guarantees", "Scaling", "Source"} {
			if !strings.Contains(text, "\n// # "+part) {
				t.Errorf("%s has no part %q", file, part)
			}
		}
		if line := spaces.ReplaceAllString(text, " "); !strings.Contains(line, "When not to use ") {
			t.Errorf("%s does not say when not to use it", file)
		}
		if !regexp.MustCompile(`crash|dies|died|Repair`).MatchString(text) {
			t.Errorf("%s does not say what is left where a process dies", file)
		}
		if !hasExample(t, dir) {
			t.Errorf("%s has no Example", dir)
		}
	}
	if chapters < 26 {
		t.Errorf("only %d packages found", chapters)
	}
}

func hasExample(t *testing.T, dir string) bool {
	t.Helper()
	tests, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range tests {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if exampleFunc.Match(text) {
			return true
		}
	}
	return false
}
