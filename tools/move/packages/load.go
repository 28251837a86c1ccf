package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
)

// place is the position of a declaration. It is the same in all variants of a package, such as the
// variant with tests.
type place string

// source is a file of the module.
type source struct {
	file     *ast.File
	pkg      *packages.Package
	rel      string // the path relative to the module
	target   string // the folder of the file after the move
	external bool   // whether the file is a test of package x_test
	edits    []edit
	imports  map[string]string // the imports to add: from import path to name
}

type mover struct {
	*plan
	root     string
	module   string
	fset     *token.FileSet
	sources  map[string]*source
	decls    map[place]*decl
	uses     []use
	failed   []string
	forTests map[string]bool
}

// decl is a package-level object, a method or a field that the package declares.
type decl struct {
	at       place
	object   types.Object
	src      *source
	name     string // the name after the move
	exported bool   // whether the name must be exported
	of       *types.TypeName
	method   bool
	field    bool
	embedded place // for an embedded field, the declaration of the type that gives the field its name
	detached bool  // whether the method becomes a function
}

type use struct {
	src  *source
	id   *ast.Ident
	decl *decl
}

func load(root string, p *plan) (*mover, error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	m := &mover{
		plan: p, root: abs, fset: token.NewFileSet(), sources: map[string]*source{},
		decls: map[place]*decl{}, forTests: map[string]bool{},
	}
	conf := &packages.Config{
		Dir: abs, Fset: m.fset, Tests: true,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles |
			packages.NeedSyntax | packages.NeedTypes |
			packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps | packages.NeedModule,
	}
	pkgs, err := packages.Load(conf, "./...")
	if err != nil {
		return nil, err
	}
	for _, pkg := range pkgs {
		for _, e := range pkg.Errors {
			return nil, fmt.Errorf("%s: %v", pkg.PkgPath, e)
		}
		if pkg.Module != nil {
			m.module = pkg.Module.Path
		}
		for _, file := range pkg.Syntax {
			m.add(pkg, file)
		}
	}
	return m, nil
}

func (m *mover) add(pkg *packages.Package, file *ast.File) {
	name := m.fset.Position(file.FileStart).Filename
	rel, err := filepath.Rel(m.root, name)
	if err != nil || strings.HasPrefix(rel, "..") {
		return
	}
	if old, ok := m.sources[rel]; ok && strings.Contains(old.pkg.ID, "[") {
		return // the variant of the package with tests contains more
	}
	s := &source{file: file, pkg: pkg, rel: rel, target: filepath.Dir(rel), imports: map[string]string{}}
	s.external = strings.HasSuffix(file.Name.Name, "_test")
	if filepath.Dir(rel) == m.dir {
		s.target = m.plan.target(filepath.Base(rel))
		if m.plan.outside[filepath.Base(rel)] {
			s.external = true
		}
	}
	m.sources[rel] = s
}

func (m *mover) placeOf(o types.Object) place {
	if o == nil || !o.Pos().IsValid() {
		return ""
	}
	pos := m.fset.Position(o.Pos())
	rel, err := filepath.Rel(m.root, pos.Filename)
	if err != nil || filepath.Dir(rel) != m.dir {
		return ""
	}
	return place(fmt.Sprintf("%s:%d:%d", rel, pos.Line, pos.Column))
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
