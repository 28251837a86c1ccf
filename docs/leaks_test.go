package docs_test

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// suite says what the files of one package do with goroutines.
type suite struct{ starts, tested, verifies bool }

// TestSuitesFindLeaks checks that each package with tests whose code or tests start goroutines
// calls goleak.VerifyTestMain, in a test file that belongs to the package on every system.
func TestSuitesFindLeaks(t *testing.T) {
	t.Parallel()
	suites := map[string]*suite{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && isApart(path):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go"):
			return nil
		}
		folder := filepath.Dir(path)
		if suites[folder] == nil {
			suites[folder] = &suite{}
		}
		suites[folder].add(t, path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for folder, s := range suites {
		if s.starts && s.tested && !s.verifies {
			t.Errorf("%s starts goroutines, but no test file for every system calls goleak.VerifyTestMain", folder)
		}
		if s.verifies {
			found++
		}
	}
	if found < 50 {
		t.Errorf("only %d suites look for leaks: is the search wrong?", found)
	}
}

// isApart reports whether a folder has no package of the main module.
func isApart(folder string) bool {
	if folder == ".." {
		return false
	}
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	name := filepath.Base(folder)
	return err == nil || name == "testdata" || strings.HasPrefix(name, ".")
}

// add adds a file to the suite of its package.
func (s *suite) add(t *testing.T, path string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	test := strings.HasSuffix(path, "_test.go")
	s.tested = s.tested || test
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			s.starts = true
		case *ast.CallExpr:
			switch f, ok := n.Fun.(*ast.SelectorExpr); {
			case !ok:
			case f.Sel.Name == "Go" && len(n.Args) == 1: // of sync.WaitGroup or errgroup.Group
				s.starts = true
			case f.Sel.Name == "VerifyTestMain":
				s.verifies = s.verifies || test && isEverywhere(t, path)
			}
		}
		return true
	})
}

// isEverywhere reports whether a file belongs to its package on every system that releases are
// built for. It accepts the build tag of the tests that take long.
func isEverywhere(t *testing.T, path string) bool {
	t.Helper()
	for _, system := range []string{"linux", "darwin", "windows"} {
		c := build.Default
		c.GOOS, c.BuildTags = system, []string{"long"}
		match, err := c.MatchFile(filepath.Dir(path), filepath.Base(path))
		if err != nil {
			t.Fatal(err)
		}
		if !match {
			return false
		}
	}
	return true
}
