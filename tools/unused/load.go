package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"strings"

	"github.com/sheafdb/sheaf/tools/internal/golist"
)

// pkg is a package of the module with its types. Tests and files of other systems are read as names
// only: see program.tests and program.others.
type pkg struct {
	golist.Package
	types *types.Package
	info  *types.Info
	files []*ast.File
}

// internal reports whether only this module can import the package.
func (p *pkg) internal() bool { return strings.Contains(p.ImportPath+"/", "/internal/") }

// program is all packages of the module, type-checked from source so that an object is the same one
// in the package that declares it and in those that use it.
type program struct {
	fset *token.FileSet
	root string // folder of the module
	own  map[string]*pkg
	// order is own in the order of the imports: a package follows those that it imports.
	order []*pkg
	from  types.Importer
}

// load reads the module in the current folder. Imports of other modules come from the compiler's
// export data.
func load() (*program, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	p := &program{fset: token.NewFileSet(), root: root, own: map[string]*pkg{}}
	listed, from, err := golist.List(p.fset, "./...")
	if err != nil {
		return nil, err
	}
	p.from = from
	for _, l := range listed {
		if err := p.check(l); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Import returns the package that was checked from source, or else the one of the export data.
func (p *program) Import(path string) (*types.Package, error) {
	if own := p.own[path]; own != nil {
		return own.types, nil
	}
	return p.from.Import(path)
}

func (p *program) check(l golist.Package) error {
	k := &pkg{Package: l, info: &types.Info{
		Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Types: map[ast.Expr]types.TypeAndValue{},
	}}
	var err error
	if k.files, err = l.Parse(p.fset); err != nil {
		return err
	}
	conf := types.Config{Importer: p}
	if k.types, err = conf.Check(l.ImportPath, p.fset, k.files, k.info); err != nil {
		return fmt.Errorf("%s: %w", l.ImportPath, err)
	}
	p.own[l.ImportPath] = k
	p.order = append(p.order, k)
	return nil
}

// shipped returns the packages that the module's programs and its public packages consist of. The
// others are imported by tests only.
func (p *program) shipped() map[string]bool {
	in := map[string]bool{}
	var add func(path string)
	add = func(path string) {
		if in[path] || p.own[path] == nil {
			return
		}
		in[path] = true
		for _, i := range p.own[path].Imports {
			add(i)
		}
	}
	for _, k := range p.order {
		if k.Name == "main" || !k.internal() {
			add(k.ImportPath)
		}
	}
	return in
}
