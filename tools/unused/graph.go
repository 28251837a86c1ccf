package main

import (
	"go/ast"
	"go/types"
	"slices"
)

// group holds the constants of one const declaration.
type group struct {
	members []types.Object
	// numbered says that the declaration uses iota. Without one of its constants, the others would
	// get other numbers.
	numbered bool
}

// visible reports whether at least one of the constants is in the set.
func (g *group) visible(in map[types.Object]bool) bool {
	return slices.ContainsFunc(g.members, func(m types.Object) bool { return in[m] })
}

// graph holds the package-level declarations and the methods of a program, and which declarations
// each of them uses.
type graph struct {
	uses map[types.Object][]types.Object
	// users maps a declaration to the packages whose code names it. They can include its own
	// package.
	users map[types.Object]map[*types.Package]bool
	// roots are declarations that count as used although nothing uses them: main, init, variables
	// named _ and the public API.
	roots []types.Object
	// groups maps a constant to the const declaration that contains it.
	groups map[types.Object]*group
	decls  []types.Object
	// methods maps each named type to its methods. interfaces lists all interface types.
	methods    map[*types.TypeName][]*types.Func
	interfaces []*types.Interface
}

func newGraph(p *program) *graph {
	g := &graph{
		uses: map[types.Object][]types.Object{}, users: map[types.Object]map[*types.Package]bool{},
		groups: map[types.Object]*group{}, methods: map[*types.TypeName][]*types.Func{},
	}
	for _, k := range p.order {
		for _, file := range k.files {
			for _, d := range file.Decls {
				g.add(k, d)
			}
		}
	}
	return g
}

func (g *graph) add(k *pkg, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		obj := k.info.Defs[d.Name].(*types.Func)
		g.declare(k, obj)
		if d.Recv == nil {
			if d.Name.Name == "main" && k.Name == "main" || d.Name.Name == "init" {
				g.roots = append(g.roots, obj)
			}
		} else if of := receiver(obj); of != nil {
			g.methods[of] = append(g.methods[of], obj)
		}
		g.body(k, []types.Object{obj}, d)
	case *ast.GenDecl:
		constants := &group{numbered: counts(d)}
		for _, s := range d.Specs {
			g.spec(k, constants, s)
		}
	}
}

func (g *graph) spec(k *pkg, constants *group, s ast.Spec) {
	switch s := s.(type) {
	case *ast.TypeSpec:
		obj := k.info.Defs[s.Name]
		g.declare(k, obj)
		g.body(k, []types.Object{obj}, s)
	case *ast.ValueSpec:
		var objs []types.Object
		for _, name := range s.Names {
			obj := k.info.Defs[name]
			if name.Name == "_" {
				g.roots = append(g.roots, obj)
			} else {
				g.declare(k, obj)
				constants.members = append(constants.members, obj)
				g.groups[obj] = constants
			}
			objs = append(objs, obj)
		}
		g.body(k, objs, s)
	}
}

// counts reports whether a const declaration uses iota.
func counts(d *ast.GenDecl) bool {
	found := false
	ast.Inspect(d, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && id.Name == "iota"
		return !found
	})
	return found
}

func (g *graph) declare(k *pkg, obj types.Object) {
	g.decls = append(g.decls, obj)
	if obj.Exported() && !k.internal() && k.Name != "main" {
		g.roots = append(g.roots, obj)
	}
}

// body records that objs use the declarations that n names. n is the code that declares objs.
func (g *graph) body(k *pkg, objs []types.Object, n ast.Node) {
	var inspect func(n ast.Node) bool
	inspect = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if _, ok := k.info.Types[n].Type.Underlying().(*types.Map); ok {
				g.table(k, n, inspect)
				return false
			}
		case *ast.InterfaceType:
			if i, ok := k.info.Types[n].Type.(*types.Interface); ok {
				g.interfaces = append(g.interfaces, i)
			}
		case *ast.Ident:
			if used := origin(k.info.Uses[n]); used != nil && used.Pkg() != nil {
				g.use(k.types, objs, used)
			}
		}
		return true
	}
	ast.Inspect(n, inspect)
}

// table inspects a map literal except its constant keys. A map does not count as a user of the
// constants that are its keys.
func (g *graph) table(k *pkg, n *ast.CompositeLit, inspect func(ast.Node) bool) {
	if n.Type != nil {
		ast.Inspect(n.Type, inspect)
	}
	for _, e := range n.Elts {
		pair := e.(*ast.KeyValueExpr)
		if k.info.Types[pair.Key].Value == nil {
			ast.Inspect(pair.Key, inspect)
		}
		ast.Inspect(pair.Value, inspect)
	}
}

func (g *graph) use(from *types.Package, objs []types.Object, used types.Object) {
	if g.users[used] == nil {
		g.users[used] = map[*types.Package]bool{}
	}
	g.users[used][from] = true
	for _, obj := range objs {
		if obj != used && !slices.Contains(g.uses[obj], used) {
			g.uses[obj] = append(g.uses[obj], used)
		}
	}
}

// origin returns the generic declaration if obj is an instance of one, and otherwise obj.
func origin(obj types.Object) types.Object {
	switch obj := obj.(type) {
	case *types.Func:
		return obj.Origin()
	case *types.Var:
		return obj.Origin()
	case nil:
		return nil
	}
	return obj
}

// receiver returns the named type that a method belongs to, or nil.
func receiver(f *types.Func) *types.TypeName {
	t := f.Signature().Recv().Type()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	if n, ok := types.Unalias(t).(*types.Named); ok {
		return n.Obj()
	}
	return nil
}
