package main

import (
	"fmt"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
)

const (
	byNothing = "nothing uses it"
	byTests   = "only tests use it"
	bySelf    = "only its own package uses it"
)

// finding is a declaration that has no user.
type finding struct {
	place, pkg, name, why string
}

// find returns the unused declarations in the order of their positions. It also returns the entries
// of allowed that are used or do not exist. Everything that an allowed declaration uses counts as
// used.
func (p *program) find(allowed map[string]string) (found []finding, stale []string, err error) {
	tests, others, err := p.readNames()
	if err != nil {
		return nil, nil, err
	}
	g := newGraph(p)
	s := &search{program: p, reached: &reached{graph: g}, tests: tests, others: others, shipped: p.shipped()}
	s.addOthers()
	s.reached = g.reach(p)
	s.visible = s.see()
	for name := range allowed {
		obj := p.lookup(name)
		switch {
		case obj == nil || s.in[obj] && !s.couldBeUnexported(obj, s.own[obj.Pkg().Path()]):
			stale = append(stale, name)
		default:
			g.roots = append(g.roots, obj)
			s.visible[obj] = true
		}
	}
	s.reached = g.reach(p)
	for _, obj := range g.decls {
		if why := s.judge(obj); why != "" {
			found = append(found, s.describe(obj, why))
		}
	}
	slices.Sort(stale)
	slices.SortFunc(found, func(a, b finding) int { return strings.Compare(a.place, b.place) })
	return found, stale, nil
}

// lookup finds the declaration PKG.NAME or the method PKG.TYPE.NAME. It returns nil if it does not
// exist.
func (p *program) lookup(name string) types.Object {
	for _, k := range p.order {
		rest, ok := strings.CutPrefix(name, short(k.ImportPath)+".")
		if !ok {
			continue
		}
		of, method, isMethod := strings.Cut(rest, ".")
		obj := k.types.Scope().Lookup(of)
		if obj == nil || !isMethod {
			return obj
		}
		m, _, _ := types.LookupFieldOrMethod(obj.Type(), true, k.types, method)
		return m
	}
	return nil
}

// short removes everything up to and including internal/ from an import path.
func short(path string) string {
	if _, rest, ok := strings.Cut(path, "/internal/"); ok {
		return rest
	}
	return path
}

// readNames collects the names in the tests, and in the Go files that were not type-checked: those
// for other systems, and nested modules.
func (p *program) readNames() (tests, others *names, err error) {
	tests, others = newNames(), newNames()
	for _, k := range p.order {
		for _, name := range slices.Concat(k.TestGoFiles, k.XTestGoFiles) {
			if err := tests.add(k.Dir, name); err != nil {
				return nil, nil, err
			}
		}
		for _, name := range k.IgnoredGoFiles {
			in := others
			if strings.HasSuffix(name, "_test.go") {
				in = tests
			}
			if err := in.add(k.Dir, name); err != nil {
				return nil, nil, err
			}
		}
	}
	for _, pattern := range []string{"*/go.mod", "*/*/go.mod"} {
		modules, err := filepath.Glob(filepath.Join(p.root, pattern))
		if err != nil {
			return nil, nil, err
		}
		for _, m := range modules {
			if err := others.addModule(filepath.Dir(m)); err != nil {
				return nil, nil, err
			}
		}
	}
	return tests, others, nil
}

type search struct {
	*program
	*reached
	tests, others *names
	shipped       map[string]bool
	visible       map[types.Object]bool
}

// named reports whether obj may be used by a file that was only parsed. It compares only names.
func (s *search) named(obj types.Object, in *names) bool {
	k := s.own[obj.Pkg().Path()]
	if in.plain[k.Dir][obj.Name()] || in.of[k.ImportPath][obj.Name()] {
		return true
	}
	f, ok := obj.(*types.Func)
	return ok && f.Signature().Recv() != nil && in.selected[f.Name()]
}

// addOthers adds roots: declarations that may be used by files for other systems or by nested
// modules.
func (s *search) addOthers() {
	for _, obj := range s.decls {
		k := s.own[obj.Pkg().Path()]
		if s.others.plain[k.Dir][obj.Name()] || s.others.of[k.ImportPath][obj.Name()] {
			s.roots = append(s.roots, obj)
		}
		if m, ok := obj.(*types.Func); ok && m.Signature().Recv() != nil && s.others.selected[m.Name()] {
			s.roots = append(s.roots, obj)
		}
	}
}

// judge returns the reason why obj is a finding, or "" if it is used.
func (s *search) judge(obj types.Object) string {
	k := s.own[obj.Pkg().Path()]
	if !s.shipped[k.ImportPath] {
		return s.judgeForTests(obj)
	}
	if f, ok := obj.(*types.Func); ok && f.Signature().Recv() != nil && s.receiverUnused(f) {
		return ""
	}
	switch {
	case s.in[obj] && s.couldBeUnexported(obj, k):
		return bySelf
	case s.in[obj] || s.numbered(obj):
		return ""
	case s.named(obj, s.tests) || s.usedByTestPackage(obj):
		return byTests
	}
	return byNothing
}

// receiverUnused reports whether the type of the method f is itself unused.
func (s *search) receiverUnused(f *types.Func) bool {
	of := receiver(f)
	return of != nil && !s.in[of]
}

// judgeForTests judges a declaration of a package that only tests import. It counts as used if
// anything uses it.
func (s *search) judgeForTests(obj types.Object) string {
	f, ok := obj.(*types.Func)
	if ok && f.Signature().Recv() != nil || s.numbered(obj) {
		return ""
	}
	if len(s.users[obj]) > 0 || s.named(obj, s.tests) {
		return ""
	}
	return byNothing
}

func (s *search) numbered(obj types.Object) bool {
	_, ok := obj.(*types.Const)
	return ok && s.groups[obj].numbered
}

func (s *search) usedByTestPackage(obj types.Object) bool {
	for user := range s.users[obj] {
		if !s.shipped[user.Path()] {
			return true
		}
	}
	return false
}

// couldBeUnexported reports whether an exported declaration of an internal package is used only in
// its own package. It returns false for a method that implements an interface, because the
// interface fixes its name.
func (s *search) couldBeUnexported(obj types.Object, k *pkg) bool {
	if !obj.Exported() || !k.internal() || s.visible[obj] || s.tests.of[k.ImportPath][obj.Name()] {
		return false
	}
	if _, ok := obj.(*types.Const); ok && (s.visible[typeName(obj.Type())] || s.groups[obj].visible(s.visible)) {
		return false
	}
	if f, ok := obj.(*types.Func); ok && f.Signature().Recv() != nil {
		return !s.tests.selected[f.Name()] && len(s.implements[f]) == 0 && !slices.Contains(library, f.Name())
	}
	return true
}

func (s *search) describe(obj types.Object, why string) finding {
	at := s.fset.Position(obj.Pos())
	file, err := filepath.Rel(s.root, at.Filename)
	if err != nil {
		file = at.Filename
	}
	name := obj.Name()
	if f, ok := obj.(*types.Func); ok && f.Signature().Recv() != nil {
		if of := receiver(f); of != nil {
			name = of.Name() + "." + name
		}
	}
	return finding{place: fmt.Sprintf("%s:%d", file, at.Line), pkg: short(obj.Pkg().Path()), name: name, why: why}
}
