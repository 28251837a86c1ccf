package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// locksOf returns the mutex fields in a file, as "Type.field". It reports mutexes that are not
// named fields.
func locksOf(t *testing.T, path string) (locks []string) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if isStrayMutex(n) {
			t.Errorf("%s: a mutex must be a field that has a name", files.Position(n.Pos()))
		}
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
			if len(f.Names) == 0 {
				t.Errorf("%s: a mutex must be a field that has a name", files.Position(f.Pos()))
			}
			for _, name := range f.Names {
				locks = append(locks, spec.Name.Name+"."+name.Name)
			}
		}
		return true
	})
	return locks
}

// isStrayMutex reports whether a statement declares a mutex in a variable.
func isStrayMutex(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ValueSpec:
		return n.Type != nil && isMutex(n.Type) || slices.ContainsFunc(n.Values, makesMutex)
	case *ast.AssignStmt:
		return slices.ContainsFunc(n.Rhs, makesMutex)
	default:
		return false
	}
}

// makesMutex reports whether an expression is a new mutex, or its address.
func makesMutex(e ast.Expr) bool {
	if address, ok := e.(*ast.UnaryExpr); ok {
		e = address.X
	}
	switch e := e.(type) {
	case *ast.CompositeLit:
		return e.Type != nil && isMutex(e.Type)
	case *ast.CallExpr:
		made, ok := e.Fun.(*ast.Ident)
		return ok && (made.Name == "new" || made.Name == "make") && len(e.Args) > 0 && isMutex(e.Args[0])
	default:
		return false
	}
}

// isMutex reports whether a type is a mutex, a pointer to one, or a list of them.
func isMutex(e ast.Expr) bool {
	switch of := e.(type) {
	case *ast.StarExpr:
		return isMutex(of.X)
	case *ast.ArrayType:
		return isMutex(of.Elt)
	case *ast.MapType:
		return isMutex(of.Value)
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
