package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/tools/internal/golist"
)

// pkg is a type-checked package, without its tests.
type pkg struct {
	path, module string
	fset         *token.FileSet
	files        []*ast.File
	info         *types.Info
}

// name returns the import path without the module and without internal/.
func (p *pkg) name() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.path, p.module+"/"), "internal/")
}

// load reads and type-checks the packages of the module that match a pattern.
func load(pattern string) ([]*pkg, error) {
	fset := token.NewFileSet()
	own, from, err := golist.List(fset, pattern)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(own, func(a, b golist.Package) int { return strings.Compare(a.ImportPath, b.ImportPath) })
	var pkgs []*pkg
	for _, l := range own {
		if len(l.GoFiles) == 0 {
			continue
		}
		p, err := check(fset, from, &l)
		if err != nil {
			return nil, err
		}
		pkgs = append(pkgs, p)
	}
	return pkgs, nil
}

func check(fset *token.FileSet, from types.Importer, l *golist.Package) (*pkg, error) {
	p := &pkg{path: l.ImportPath, module: l.Module.Path, fset: fset, info: &types.Info{
		Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
	}}
	var err error
	if p.files, err = l.Parse(fset); err != nil {
		return nil, err
	}
	conf := types.Config{Importer: from}
	if _, err := conf.Check(l.ImportPath, fset, p.files, p.info); err != nil {
		return nil, fmt.Errorf("%s: %w", l.ImportPath, err)
	}
	return p, nil
}
