package main

import (
	"go/types"
	"slices"
)

// library lists methods that the standard library calls through interfaces that it does not export.
var library = []string{"Error", "String", "Unwrap", "Is", "As", "Timeout", "Temporary"}

// reach returns the declarations that the roots use, directly or indirectly. A method is used if
// code names it. It is also used if its type implements an interface and that interface's method is
// used. The methods of interfaces of other modules always count as used.
func (g *graph) reach(p *program) *reached {
	r := &reached{graph: g, in: map[types.Object]bool{}, ours: map[*types.Package]bool{}}
	for _, k := range p.order {
		r.ours[k.types] = true
	}
	r.demand(foreign(p))
	for _, obj := range g.roots {
		r.add(obj)
	}
	for len(r.queue) > 0 {
		obj := r.queue[0]
		r.queue = r.queue[1:]
		for _, used := range g.uses[obj] {
			r.add(used)
		}
		r.implied(obj)
	}
	return r
}

type reached struct {
	*graph
	in    map[types.Object]bool
	queue []types.Object
	ours  map[*types.Package]bool
	// implements maps a method to the interface methods that it implements. asked maps an interface
	// method to the methods that implement it.
	implements map[*types.Func][]*types.Func
	asked      map[types.Object][]*types.Func
}

func (r *reached) add(obj types.Object) {
	if obj == nil || r.in[obj] || obj.Pkg() == nil || !r.ours[obj.Pkg()] {
		return
	}
	r.in[obj] = true
	r.queue = append(r.queue, obj)
}

// implied adds the declarations that count as used because obj is used. For a type, these are the
// methods that interfaces call. For an interface method, these are its implementations.
func (r *reached) implied(obj types.Object) {
	switch obj := obj.(type) {
	case *types.TypeName:
		for _, m := range r.methods[obj] {
			if r.asksFor(m) {
				r.add(m)
			}
		}
	case *types.Func:
		for _, m := range r.asked[obj] {
			if of := receiver(m); of == nil || r.in[of] {
				r.add(m)
			}
		}
	}
}

func (r *reached) asksFor(m *types.Func) bool {
	if slices.Contains(library, m.Name()) {
		return true
	}
	return slices.ContainsFunc(r.implements[m], func(i *types.Func) bool {
		return r.in[i] || !r.ours[i.Pkg()] || !i.Exported()
	})
}

// demand pairs the methods of the program with the interface methods that they implement.
func (r *reached) demand(others []*types.Interface) {
	r.implements, r.asked = map[*types.Func][]*types.Func{}, map[types.Object][]*types.Func{}
	all := append(slices.Clone(r.interfaces), others...)
	generic := map[string][]*types.Func{}
	byName := map[string][]*types.Interface{}
	for _, i := range all {
		for m := range i.Methods() {
			if hasTypeParams(m) {
				generic[m.Name()] = append(generic[m.Name()], m)
			}
		}
		if i.NumMethods() > 0 {
			byName[i.Method(0).Name()] = append(byName[i.Method(0).Name()], i)
		}
	}
	for of, methods := range r.methods {
		for _, m := range methods {
			for _, i := range generic[m.Name()] {
				if alike(m.Signature(), i.Signature()) {
					r.pair(m, i)
				}
			}
		}
		r.match(of, byName)
	}
	for _, i := range r.interfaces {
		r.matchInterface(i, all)
	}
}

func (r *reached) pair(m, i *types.Func) {
	if m != i {
		r.implements[m] = append(r.implements[m], i.Origin())
		r.asked[i.Origin()] = append(r.asked[i.Origin()], m)
	}
}

// match pairs the methods of a type, including promoted ones, with the methods of the interfaces
// that the type implements. For a generic type, match compares only the names of methods.
func (r *reached) match(of *types.TypeName, byName map[string][]*types.Interface) {
	named, ok := of.Type().(*types.Named)
	if !ok || types.IsInterface(named) {
		return
	}
	set := types.NewMethodSet(types.NewPointer(named))
	for s := range set.Methods() {
		for _, i := range byName[s.Obj().Name()] {
			if named.TypeParams().Len() == 0 && !types.Implements(types.NewPointer(named), i) {
				continue
			}
			for want := range i.Methods() {
				if sel := set.Lookup(want.Pkg(), want.Name()); sel != nil {
					r.pair(sel.Obj().(*types.Func).Origin(), want)
				}
			}
		}
	}
}

// matchInterface pairs the methods of an interface with the methods of the smaller interfaces that
// it implements. A value of the larger interface can be converted to the smaller one.
func (r *reached) matchInterface(i *types.Interface, all []*types.Interface) {
	for _, other := range all {
		if other == i || other.NumMethods() == 0 || other.NumMethods() > i.NumMethods() || !types.Implements(i, other) {
			continue
		}
		for want := range other.Methods() {
			for m := range i.Methods() {
				if m.Id() == want.Id() {
					r.pair(m.Origin(), want)
				}
			}
		}
	}
}

// alike reports whether a signature may be an instance of a generic signature. It compares only the
// numbers of parameters and results.
func alike(s, generic *types.Signature) bool {
	return s.Params().Len() == generic.Params().Len() && s.Results().Len() == generic.Results().Len() &&
		s.Variadic() == generic.Variadic()
}

func hasTypeParams(m *types.Func) bool {
	for _, tuple := range []*types.Tuple{m.Signature().Params(), m.Signature().Results()} {
		for v := range tuple.Variables() {
			if mentions(v.Type(), 0) {
				return true
			}
		}
	}
	return false
}

// mentions reports whether a type contains a type parameter. It looks six levels deep.
func mentions(t types.Type, depth int) bool {
	if depth > 6 {
		return false
	}
	switch t := types.Unalias(t).(type) {
	case *types.TypeParam:
		return true
	case interface{ Elem() types.Type }:
		return mentions(t.Elem(), depth+1)
	case *types.Named:
		for a := range t.TypeArgs().Types() {
			if mentions(a, depth+1) {
				return true
			}
		}
	case *types.Signature:
		for _, tuple := range []*types.Tuple{t.Params(), t.Results()} {
			for v := range tuple.Variables() {
				if mentions(v.Type(), depth+1) {
					return true
				}
			}
		}
	}
	return false
}

// foreign returns the exported interfaces of other modules and of the standard library, as far as
// the program imports them directly or indirectly.
func foreign(p *program) []*types.Interface {
	found := []*types.Interface{types.Universe.Lookup("error").Type().Underlying().(*types.Interface)}
	seen := map[*types.Package]bool{}
	var add func(i *types.Package)
	add = func(i *types.Package) {
		if seen[i] {
			return
		}
		seen[i] = true
		if p.own[i.Path()] == nil {
			found = append(found, interfaces(i)...)
		}
		for _, next := range i.Imports() {
			add(next)
		}
	}
	for _, k := range p.order {
		add(k.types)
	}
	return found
}

func interfaces(p *types.Package) []*types.Interface {
	var found []*types.Interface
	for _, name := range p.Scope().Names() {
		obj, ok := p.Scope().Lookup(name).(*types.TypeName)
		if !ok || !obj.Exported() {
			continue
		}
		if i, ok := obj.Type().Underlying().(*types.Interface); ok && i.NumMethods() > 0 {
			found = append(found, i)
		}
	}
	return found
}
