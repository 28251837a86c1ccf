// Contextfirst makes the context the first parameter of functions that have it as their second
// one, in the packages whose folders are given. Methods that became functions have it there.
//
//	contextfirst ROOT internal/command/crud internal/command/ddl
package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: contextfirst ROOT FOLDER...")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "contextfirst:", err)
		os.Exit(1)
	}
}

// pair is a pair of neighbouring parameters or arguments that are swapped: where each begins and
// ends, in bytes.
type pair struct{ a0, a1, b0, b1 int }

type swapper struct {
	root    string
	folders []string
	fset    *token.FileSet
	wanted  map[string]bool // the places at which the functions are declared
	pairs   map[string]map[pair]bool
	values  []string // the uses of the functions that are not calls
}

func run(root string, folders []string) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	s := &swapper{
		root: root, folders: folders, fset: token.NewFileSet(), wanted: map[string]bool{},
		pairs: map[string]map[pair]bool{},
	}
	pkgs, err := packages.Load(&packages.Config{
		Dir: root, Fset: s.fset, Tests: true,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles |
			packages.NeedSyntax | packages.NeedTypes |
			packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps,
	}, "./...")
	if err != nil {
		return err
	}
	for _, visit := range []func(*packages.Package, *ast.File, string){s.declarations, s.uses} {
		for _, p := range pkgs {
			for _, f := range p.Syntax {
				if name := s.fset.Position(f.FileStart).Filename; strings.HasPrefix(name, root+"/") {
					visit(p, f, name)
				}
			}
		}
	}
	if len(s.values) > 0 {
		return fmt.Errorf("used as values:\n%s", strings.Join(s.values, "\n"))
	}
	fmt.Println(len(s.wanted), "functions")
	return s.write()
}

func (s *swapper) at(p token.Pos) string {
	x := s.fset.Position(p)
	return fmt.Sprintf("%s:%d:%d", x.Filename, x.Line, x.Column)
}

func (s *swapper) add(file string, a, b ast.Node) {
	off := func(p token.Pos) int { return s.fset.Position(p).Offset }
	if s.pairs[file] == nil {
		s.pairs[file] = map[pair]bool{}
	}
	s.pairs[file][pair{off(a.Pos()), off(a.End()), off(b.Pos()), off(b.End())}] = true
}

// declarations finds the functions whose second parameter is the context.
func (s *swapper) declarations(p *packages.Package, f *ast.File, name string) {
	rel, err := filepath.Rel(s.root, filepath.Dir(name))
	if err != nil || !slices.Contains(s.folders, rel) || strings.HasSuffix(name, "_test.go") {
		return
	}
	isContext := func(e ast.Expr) bool { return p.TypesInfo.TypeOf(e).String() == "context.Context" }
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Recv != nil || fn.Type.Params.NumFields() < 2 {
			continue
		}
		l := fn.Type.Params.List
		if len(l[0].Names) == 1 && len(l[1].Names) == 1 && !isContext(l[0].Type) && isContext(l[1].Type) {
			s.wanted[s.at(fn.Name.Pos())] = true
			s.add(name, l[0], l[1])
		}
	}
}

// uses finds the calls of the functions that are changed.
func (s *swapper) uses(p *packages.Package, f *ast.File, name string) {
	called := map[*ast.Ident]bool{}
	isWanted := func(id *ast.Ident) bool {
		o := p.TypesInfo.Uses[id]
		return o != nil && s.wanted[s.at(o.Pos())]
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if id := calledName(n.Fun); id != nil && isWanted(id) {
				called[id] = true
				s.add(name, n.Args[0], n.Args[1])
			}
		case *ast.Ident:
			if isWanted(n) && !called[n] {
				s.values = append(s.values, s.at(n.Pos()))
			}
		}
		return true
	})
}

func calledName(fun ast.Expr) *ast.Ident {
	switch x := fun.(type) {
	case *ast.Ident:
		return x
	case *ast.SelectorExpr:
		return x.Sel
	default:
		return nil
	}
}

func (s *swapper) write() error {
	for name, set := range s.pairs {
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		var pairs []pair
		for p := range set {
			pairs = append(pairs, p)
		}
		slices.SortFunc(pairs, func(a, b pair) int { return a.a0 - b.a0 })
		if err := os.WriteFile(name, []byte(swapped(src, pairs, 0, len(src))), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// swapped returns a part of a file in which all pairs are swapped. A pair can contain other pairs.
func swapped(src []byte, pairs []pair, from, to int) string {
	var b strings.Builder
	for _, p := range pairs {
		if p.a0 < from || p.b1 > to {
			continue
		}
		b.Write(src[from:p.a0])
		b.WriteString(swapped(src, pairs, p.b0, p.b1))
		b.Write(src[p.a1:p.b0])
		b.WriteString(swapped(src, pairs, p.a0, p.a1))
		from = p.b1
	}
	b.Write(src[from:to])
	return b.String()
}
