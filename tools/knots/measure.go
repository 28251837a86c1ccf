package main

import (
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// figure holds the measurements of a package.
type figure struct {
	pkg, path    string
	files, lines int
	knot         []string
	uses         []string // the uses that connect the files of the knot, one line for each pair of files
	longest      int
	longestFile  string
	methods      int
	methodsOf    string
}

// graph maps a file to the files that it uses, and each of these to the names that it uses from it.
type graph map[string]map[string][]string

func measure(p *pkg) figure {
	f := figure{pkg: p.name(), path: p.path, files: len(p.files)}
	methods := map[string]int{}
	for _, file := range p.files {
		n := p.fset.File(file.FileStart).LineCount()
		f.lines += n
		if n > f.longest {
			f.longest, f.longestFile = n, base(p, file)
		}
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
				methods[receiver(fn.Recv.List[0].Type)]++
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(methods)) {
		if methods[name] > f.methods {
			f.methods, f.methodsOf = methods[name], name
		}
	}
	g := p.graph()
	f.knot = largest(g)
	for _, from := range f.knot {
		for _, to := range f.knot {
			if names := g[from][to]; len(names) > 0 {
				slices.Sort(names)
				f.uses = append(f.uses, fmt.Sprintf("%s -> %s: %s", from, to, strings.Join(slices.Compact(names), " ")))
			}
		}
	}
	return f
}

func base(p *pkg, file *ast.File) string { return filepath.Base(p.fset.File(file.FileStart).Name()) }

// receiver returns the name of the type to which a method belongs.
func receiver(t ast.Expr) string {
	switch x := t.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.IndexListExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x.Name
	default:
		return ""
	}
}

// graph finds the uses of identifiers, methods and fields that are declared in another file of the
// package.
func (p *pkg) graph() graph {
	g := graph{}
	for _, file := range p.files {
		from := base(p, file)
		g[from] = map[string][]string{}
		ast.Inspect(file, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			object := origin(p.info.Uses[id])
			if object == nil || object.Pkg() == nil || object.Pkg().Path() != p.path || !object.Pos().IsValid() {
				return true
			}
			if to := filepath.Base(p.fset.File(object.Pos()).Name()); to != from {
				g[from][to] = append(g[from][to], id.Name)
			}
			return true
		})
	}
	return g
}

// origin returns the generic declaration if the function, method or field is an instance of one,
// and otherwise the object itself.
func origin(o types.Object) types.Object {
	switch x := o.(type) {
	case *types.Func:
		return x.Origin()
	case *types.Var:
		return x.Origin()
	default:
		return o
	}
}

// largest returns the largest set of files in which each file uses every other file, directly or
// through others. The set is sorted. This is Tarjan's algorithm for strongly connected components
// (SIAM Journal on Computing 1(2), 1972).
func largest(g graph) []string {
	var (
		best, stack []string
		number      = map[string]int{}
		low         = map[string]int{}
		onStack     = map[string]bool{}
		visit       func(string)
	)
	visit = func(v string) {
		number[v] = len(number) + 1
		low[v] = number[v]
		stack = append(stack, v)
		onStack[v] = true
		for _, w := range slices.Sorted(maps.Keys(g[v])) {
			if number[w] == 0 {
				visit(w)
				low[v] = min(low[v], low[w])
			} else if onStack[w] {
				low[v] = min(low[v], number[w])
			}
		}
		if low[v] != number[v] {
			return
		}
		at := slices.Index(stack, v)
		knot := slices.Clone(stack[at:])
		for _, w := range knot {
			onStack[w] = false
		}
		stack = stack[:at]
		if len(knot) > len(best) {
			best = knot
		}
	}
	for _, v := range slices.Sorted(maps.Keys(g)) {
		if number[v] == 0 {
			visit(v)
		}
	}
	slices.Sort(best)
	return best
}
