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

// collect finds the declarations of the package and all uses of these declarations.
func (m *mover) collect() {
	for _, s := range m.sorted() {
		if filepath.Dir(s.rel) == m.dir {
			m.declared(s)
		}
	}
	for _, s := range m.sorted() {
		m.used(s)
	}
	for _, d := range m.decls {
		if d.method && d.of != nil {
			if t := m.decls[m.placeOf(d.of)]; t != nil && t.src.target != d.src.target {
				d.detached = true
			}
		}
	}
}

func (m *mover) sorted() (out []*source) {
	for _, rel := range slices.Sorted(maps.Keys(m.sources)) {
		out = append(out, m.sources[rel])
	}
	return out
}

func (m *mover) declared(s *source) {
	scope := s.pkg.Types.Scope()
	owner := map[*ast.Ident]*types.TypeName{}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			if st, ok := n.Type.(*ast.StructType); ok {
				t, _ := s.pkg.TypesInfo.Defs[n.Name].(*types.TypeName)
				for _, f := range st.Fields.List {
					for _, id := range f.Names {
						owner[id] = t
					}
				}
			}
		case *ast.Ident:
			o := s.pkg.TypesInfo.Defs[n]
			if o == nil {
				return true
			}
			d := &decl{at: m.placeOf(o), object: o, src: s, name: o.Name()}
			switch o := o.(type) {
			case *types.Func:
				if recv := o.Signature().Recv(); recv != nil {
					d.method, d.of = true, named(recv.Type())
					m.decls[d.at] = d
					return true
				}
			case *types.Var:
				if o.IsField() {
					if old := m.decls[d.at]; old != nil && old.embedded != "" {
						return true
					}
					d.field, d.of = true, owner[n]
					m.decls[d.at] = d
					return true
				}
			}
			if o.Parent() == scope {
				m.decls[d.at] = d
			}
		case *ast.StructType:
			for _, f := range n.Fields.List {
				if len(f.Names) > 0 {
					continue
				}
				if id := lastName(f.Type); id != nil {
					t := s.pkg.TypesInfo.Uses[id]
					pos := m.fset.Position(id.Pos())
					at := place(fmt.Sprintf("%s:%d:%d", s.rel, pos.Line, pos.Column))
					m.decls[at] = &decl{at: at, object: t, src: s, name: id.Name, field: true, embedded: m.placeOf(t)}
				}
			}
		}
		return true
	})
}

func named(t types.Type) *types.TypeName {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	switch x := t.(type) {
	case *types.Named:
		return x.Origin().Obj()
	}
	return nil
}

func lastName(e ast.Expr) *ast.Ident {
	switch x := e.(type) {
	case *ast.Ident:
		return x
	case *ast.StarExpr:
		return lastName(x.X)
	case *ast.SelectorExpr:
		return x.Sel
	case *ast.IndexExpr:
		return lastName(x.X)
	case *ast.IndexListExpr:
		return lastName(x.X)
	}
	return nil
}

func (m *mover) used(s *source) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		o := origin(s.pkg.TypesInfo.Uses[id])
		if d := m.decls[m.placeOf(o)]; d != nil && o.Name() == d.object.Name() {
			m.uses = append(m.uses, use{s, id, d})
			if !inside(s, d) && !(filepath.Dir(s.rel) == m.dir && s.external) {
				d.exported = true
			}
		}
		return true
	})
}

// inside reports whether a file is in the same package as a declaration after the move.
func inside(s *source, d *decl) bool { return s.target == d.src.target && s.external == d.src.external }

// report prints how often each new package uses another one, because each such use needs an import.
func (m *mover) report(filter string) {
	type pair struct{ from, to string }
	counts := map[pair]map[string][]string{}
	for _, u := range m.uses {
		if filepath.Dir(u.src.rel) != m.dir || u.src.target == u.decl.src.target || u.src.external {
			continue
		}
		if u.decl.field || u.decl.method && !u.decl.detached {
			continue // the use of the type counts already
		}
		p := pair{u.src.target, u.decl.src.target}
		if counts[p] == nil {
			counts[p] = map[string][]string{}
		}
		key := filepath.Base(u.decl.src.rel) + " " + u.decl.object.Name()
		pos := m.fset.Position(u.id.Pos())
		counts[p][key] = append(counts[p][key], fmt.Sprintf("%s:%d", filepath.Base(pos.Filename), pos.Line))
	}
	keys := slices.SortedFunc(maps.Keys(counts),
		func(a, b pair) int { return strings.Compare(a.from+a.to, b.from+b.to) })
	for _, p := range keys {
		n := 0
		for _, at := range counts[p] {
			n += len(at)
		}
		fmt.Printf("%s -> %s: %d names, %d uses\n", p.from, p.to, len(counts[p]), n)
		if filter == p.from+":"+p.to || filter == "all" {
			for _, k := range slices.Sorted(maps.Keys(counts[p])) {
				fmt.Printf("    %-50s %s\n", k, strings.Join(counts[p][k], " "))
			}
		}
	}
}
