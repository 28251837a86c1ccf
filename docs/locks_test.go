package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// locksOf returns the mutex fields in a file, as "Type.field".
func locksOf(t *testing.T, path string) (locks []string) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		st, ok := spec.Type.(*ast.StructType)
		if !ok {
			return true
		}
		for _, f := range st.Fields.List {
			if !isMutex(f.Type) {
				continue
			}
			for _, name := range f.Names {
				locks = append(locks, spec.Name.Name+"."+name.Name)
			}
		}
		return true
	})
	return locks
}

func isMutex(e ast.Expr) bool {
	if p, ok := e.(*ast.StarExpr); ok {
		e = p.X
	}
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == "sync" && (sel.Sel.Name == "Mutex" || sel.Sel.Name == "RWMutex")
}

var lockRow = regexp.MustCompile("(?m)^\\|(?: \\d \\|)? (internal/[a-z/]+) \\| `([A-Za-z]+\\.[A-Za-z]+)` \\|")

// TestLocksPage checks that locks.md names each mutex of the code, and names no mutex that does not
// exist.
func TestLocksPage(t *testing.T) {
	page := map[string]bool{}
	for _, m := range lockRow.FindAllStringSubmatch(read(t, "locks.md"), -1) {
		page[m[1]+" "+m[2]] = true
	}
	err := filepath.WalkDir("../internal", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		dir := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../")
		for _, lock := range locksOf(t, path) {
			if !page[dir+" "+lock] {
				t.Errorf("locks.md does not name `%s` of %s", lock, dir)
			}
			delete(page, dir+" "+lock)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for lock := range page {
		t.Errorf("locks.md names %s, which is not in the code", lock)
	}
}
