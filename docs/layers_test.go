package docs_test

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// ruleFiles matches a depguard rule that denies all imports of the module. Its group is the
	// list of files for which the rule holds.
	ruleFiles  = regexp.MustCompile(`(?m)^ {10}files: \[(.*)\]\n {10}deny: [*&]module$`)
	quotedGlob = regexp.MustCompile(`"\*\*/(internal/[^"]*)"`)
)

// TestPackagesHaveAllowLists checks that each package under internal/ has an allow list of imports
// and a doc.go.
func TestPackagesHaveAllowLists(t *testing.T) {
	t.Parallel()
	var globs []string
	for _, rule := range ruleFiles.FindAllStringSubmatch(read(t, "../.golangci.yml"), -1) {
		for _, glob := range quotedGlob.FindAllStringSubmatch(rule[1], -1) {
			globs = append(globs, glob[1])
		}
	}
	for _, folder := range packages(t) {
		listed := false
		for _, glob := range globs {
			whole, deep := strings.CutSuffix(glob, "/**")
			same, _ := filepath.Match(filepath.Dir(glob), folder)
			listed = listed || same && !deep || deep && within(folder, whole)
		}
		if !listed {
			t.Errorf("%s has no allow list in .golangci.yml", folder)
		}
		if found, _ := filepath.Glob(filepath.Join("..", folder, "doc.go")); len(found) == 0 && !programs[folder] {
			t.Errorf("%s has no doc.go", folder)
		}
	}
}

// programs lists programs under internal/. They are described in main.go and need no doc.go.
var programs = map[string]bool{"internal/compat/gen": true}

// within reports whether a folder is equal to another folder or below it. The path of the other
// folder may end with a star.
func within(folder, other string) bool {
	for ; folder != "."; folder = filepath.Dir(folder) {
		if ok, _ := filepath.Match(other, folder); ok {
			return true
		}
	}
	return false
}

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
