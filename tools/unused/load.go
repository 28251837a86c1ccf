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

// pkg is a type-checked package of the module. Its tests and its files for other systems are not
// included: readNames parses them.
type pkg struct {
	golist.Package
	types *types.Package
	info  *types.Info
	files []*ast.File
}

// internal reports whether only this module can import the package.
func (p *pkg) internal() bool { return strings.Contains(p.ImportPath+"/", "/internal/") }

// program holds all packages of the module. All are type-checked from source, so that a declaration
// is the same object in its own package and in every package that uses it.
type program struct {
	fset *token.FileSet
	root string // the folder of the module
	own  map[string]*pkg
	// order lists the packages in own. A package comes after the packages that it imports.
	order []*pkg
	from  types.Importer
}

// load type-checks the module in the current folder. It reads the packages of other modules from
// the compiler's export data.
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

// Import implements types.Importer. It prefers the package that was type-checked from source.
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

// shipped returns the public packages, the programs, and all packages that they import. Only tests
// import the other packages of the module.
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
