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

// TestEveryPackageIsAChapter checks the documentation of each package: it begins with code that an
// Example runs, and it has all required parts.
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
		switch code := firstCode(text); {
		case code == "":
			t.Errorf("%s does not begin with code", file)
		case !strings.Contains(examples(t, dir), code):
			t.Errorf("the code at the beginning of %s is no part of an Example:\n%s", file, code)
		}
	}
	if chapters < 26 {
		t.Errorf("only %d packages found", chapters)
	}
}

// firstCode returns the code between the first paragraph of the documentation and the first
// heading, indented like code in a function.
func firstCode(doc string) string {
	head, _, _ := strings.Cut(doc, "\n// # ")
	_, code, _ := strings.Cut(head, "\n//\n//\t")
	if code == "" {
		return ""
	}
	var b strings.Builder
	for line := range strings.Lines("//\t" + strings.TrimSuffix(code, "\n//") + "\n") {
		line = strings.TrimPrefix(line, "//")
		b.WriteString(line)
	}
	return b.String()
}

// examples returns the Examples of a package.
func examples(t *testing.T, dir string) string {
	t.Helper()
	tests, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, file := range tests {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if exampleFunc.Match(text) {
			b.Write(text)
		}
	}
	return b.String()
}
