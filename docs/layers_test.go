package docs_test

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestPackagesAreDescribed checks that each package under internal/ has a doc.go. tools/imports
// checks its layer and its list of imports.
func TestPackagesAreDescribed(t *testing.T) {
	t.Parallel()
	for _, folder := range packages(t) {
		if found, _ := filepath.Glob(filepath.Join("..", folder, "doc.go")); len(found) == 0 && !programs[folder] {
			t.Errorf("%s has no doc.go", folder)
		}
	}
}

// programs lists programs under internal/. They are described in main.go and need no doc.go.
var programs = map[string]bool{"internal/compat/gen": true}

// packages returns the folders of all packages under internal/.
func packages(t *testing.T) (folders []string) {
	t.Helper()
	seen := map[string]bool{}
	err := filepath.WalkDir("../internal", func(path string, d fs.DirEntry, err error) error {
		folder := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../")
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".go") && !seen[folder] {
			seen[folder] = true
			folders = append(folders, folder)
		}
		return err
	})
	if err != nil || len(folders) == 0 {
		t.Fatal(folders, err)
	}
	return folders
}
