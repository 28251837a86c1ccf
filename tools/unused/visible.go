package main

import "go/types"

// see returns the declarations that other packages name, and all types in their signatures and
// exported fields. A caller of a function must be able to name its parameter and result types.
func (s *search) see() map[types.Object]bool {
	v := &viewer{seen: map[types.Object]bool{}, types: map[types.Type]bool{}}
	for _, obj := range s.decls {
		for user := range s.users[obj] {
			if user != obj.Pkg() {
				v.object(obj)
			}
		}
		k := s.own[obj.Pkg().Path()]
		if s.tests.of[k.ImportPath][obj.Name()] || s.others.of[k.ImportPath][obj.Name()] {
			v.object(obj)
		}
	}
	return v.seen
}

type viewer struct {
	seen  map[types.Object]bool
	types map[types.Type]bool
}

func (v *viewer) object(obj types.Object) {
	if v.seen[obj] {
		return
	}
	v.seen[obj] = true
	v.show(obj.Type())
}

// show marks t and the types that a user of t can see: the types of its elements, exported fields
// and parameters.
func (v *viewer) show(t types.Type) {
	if t == nil || v.types[t] {
		return
	}
	v.types[t] = true
	switch t := t.(type) {
	case *types.Named:
		v.named(t)
	case *types.Alias:
		v.seen[t.Obj()] = true
		v.show(types.Unalias(t))
	case *types.Map:
		v.show(t.Key())
		v.show(t.Elem())
	case interface{ Elem() types.Type }:
		v.show(t.Elem())
	case *types.Signature:
		v.tuple(t.Params())
		v.tuple(t.Results())
		for p := range t.TypeParams().TypeParams() {
			v.show(p.Constraint())
		}
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() || f.Embedded() {
				v.show(f.Type())
			}
		}
	case *types.Interface:
		for m := range t.Methods() {
			v.show(m.Type())
		}
		for e := range t.EmbeddedTypes() {
			v.show(e)
		}
	}
}

func (v *viewer) named(t *types.Named) {
	v.seen[t.Obj()] = true
	v.show(t.Underlying())
	for a := range t.TypeArgs().Types() {
		v.show(a)
	}
	for m := range t.Origin().Methods() {
		if m.Exported() {
			v.show(m.Type())
		}
	}
}

func (v *viewer) tuple(t *types.Tuple) {
	for x := range t.Variables() {
		v.show(x.Type())
	}
}

// typeName returns the declaration of a named type, or nil for other types.
func typeName(t types.Type) types.Object {
	if n, ok := t.(*types.Named); ok {
		return n.Obj()
	}
	return nil
}
