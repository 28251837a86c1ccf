package main

import (
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// name chooses the name of each declaration after the move.
func (m *mover) name() error {
	places := slices.Sorted(maps.Keys(m.decls))
	m.shareInterfaces(places)
	for _, at := range places {
		d := m.decls[at]
		if d.embedded != "" || d.object.Name() == "_" || d.object.Name() == "init" {
			continue
		}
		d.name = m.wanted(d)
	}
	for _, at := range places {
		if d := m.decls[at]; d.embedded != "" {
			if t := m.decls[d.embedded]; t != nil {
				d.name = t.name
			}
		}
	}
	m.checkInterfaces(places)
	m.checkNames(places)
	if len(m.failed) > 0 {
		return fmt.Errorf("\n%s", strings.Join(m.failed, "\n"))
	}
	return nil
}

func (m *mover) wanted(d *decl) string {
	name := d.object.Name()
	if d.of != nil {
		if to := m.renames[d.of.Name()+"."+name]; to != "" {
			return to
		}
	}
	if to := m.renames[name]; to != "" && !d.method && !d.field {
		return to
	}
	if d.exported && !ast.IsExported(name) {
		return export(name)
	}
	return name
}

// export returns the exported form of a name. An initialism at its start becomes upper-case as a
// whole.
func export(name string) string {
	for _, word := range []string{"uuid", "id", "db", "rw", "ttl", "api", "uri"} {
		rest, ok := strings.CutPrefix(name, word)
		if ok && (rest == "" || unicode.IsUpper(rune(rest[0]))) {
			return strings.ToUpper(word) + rest
		}
	}
	r, n := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(r)) + name[n:]
}

// checkNames finds names that a package would declare twice after the move.
func (m *mover) checkNames(places []place) {
	seen := map[string]place{}
	for _, s := range m.sources { // the names that a target package already declares
		if s.rel[:len(s.rel)-len(s.rel[strings.LastIndex(s.rel, "/")+1:])] == m.dir+"/" || s.external {
			continue
		}
		for _, name := range s.pkg.Types.Scope().Names() {
			seen[s.target+" "+name] = place(s.rel)
		}
	}
	for _, at := range places {
		d := m.decls[at]
		if d.field || d.method && !d.detached || d.name == "_" || d.name == "init" || d.src.external {
			continue
		}
		key := d.src.target + " " + d.name
		if other, twice := seen[key]; twice {
			m.failed = append(m.failed, fmt.Sprintf("%s: %s stands also at %s", at, d.name, other))
		}
		seen[key] = at
	}
	for _, at := range places {
		d := m.decls[at]
		if d.name == d.object.Name() || d.embedded != "" {
			continue
		}
		if (d.method && !d.detached || d.field) && d.of != nil {
			if o, _, _ := types.LookupFieldOrMethod(types.NewPointer(d.of.Type()), true,
				d.object.Pkg(), d.name); o != nil {
				m.failed = append(m.failed, fmt.Sprintf("%s: %s.%s exists", at, d.of.Name(), d.name))
			}
		}
	}
}

// checkInterfaces finds methods of interfaces that would get another name than the methods of the
// types that implement them.
func (m *mover) checkInterfaces(places []place) {
	inInterface := map[string][]place{}
	for _, s := range m.sources {
		if !strings.HasPrefix(s.rel, m.dir+"/") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			it, ok := n.(*ast.InterfaceType)
			if !ok {
				return true
			}
			for _, f := range it.Methods.List {
				for _, id := range f.Names {
					inInterface[id.Name] = append(inInterface[id.Name], m.placeOf(s.pkg.TypesInfo.Defs[id]))
				}
			}
			return true
		})
	}
	for _, at := range places {
		d := m.decls[at]
		old := d.object.Name()
		if !d.method || inInterface[old] == nil {
			continue
		}
		for _, p := range inInterface[old] {
			if other := m.decls[p]; other != nil && (other.name != d.name || d.detached) {
				m.failed = append(m.failed, fmt.Sprintf("%s: %s becomes %s (function: %v), the interface at %s has %s", at, old, d.name, d.detached, p, other.name))
			}
		}
	}
}

// shareInterfaces exports methods that belong to interfaces of several packages, and the methods of
// the types that implement them.
func (m *mover) shareInterfaces(places []place) {
	asked := map[string]bool{} // the names of the methods of interfaces
	targets := map[string]map[string]bool{}
	for _, at := range places {
		d := m.decls[at]
		fn, ok := d.object.(*types.Func)
		if !ok || !d.method || ast.IsExported(fn.Name()) || d.src.external {
			continue
		}
		if types.IsInterface(fn.Signature().Recv().Type()) {
			asked[fn.Name()] = true
		}
		if targets[fn.Name()] == nil {
			targets[fn.Name()] = map[string]bool{}
		}
		targets[fn.Name()][d.src.target] = true
		if d.exported {
			targets[fn.Name()]["elsewhere"] = true
		}
	}
	for _, at := range places {
		d := m.decls[at]
		if d.method && !d.detached && asked[d.object.Name()] && len(targets[d.object.Name()]) > 1 {
			if !d.exported {
				fmt.Println("exported with an interface:", at, d.object.Name())
			}
			d.exported = true
		}
	}
}
