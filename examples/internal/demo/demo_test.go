package demo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryPattern checks that each package of patterns/ is used in an example and named in
// examples/README.md.
func TestEveryPattern(t *testing.T) {
	t.Parallel()
	const root = "../../.."
	programs := read(t, filepath.Join(root, "examples/*/*.go"))
	readme := read(t, filepath.Join(root, "examples/README.md"))
	found, err := filepath.Glob(filepath.Join(root, "patterns/*/doc.go"))
	if err != nil {
		t.Fatal(err)
	}
	below, err := filepath.Glob(filepath.Join(root, "patterns/*/*/doc.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range append(found, below...) {
		name := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(doc)), root+"/patterns/")
		if name == "patterntest" || strings.HasPrefix(name, "internal/") {
			continue
		}
		if !strings.Contains(programs, `"github.com/sheafdb/sheaf/patterns/`+name+`"`) {
			t.Errorf("no example imports patterns/%s", name)
		}
		if !strings.Contains(readme, "(../patterns/"+name+"/doc.go)") {
			t.Errorf("the README of the examples does not name patterns/%s", name)
		}
	}
	if len(found) < 20 {
		t.Errorf("%d patterns were found", len(found))
	}
}

// read returns the content of all files whose paths match a glob pattern.
func read(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(data)
	}
	return all.String()
}
