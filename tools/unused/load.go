package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// listed is the part of go list's output for a package that is used here.
type listed struct {
	ImportPath, Dir, Export, Name string
	GoFiles, IgnoredGoFiles       []string
	TestGoFiles, XTestGoFiles     []string
	Imports                       []string
	DepOnly                       bool
	Module                        *struct{ Path string }
}

// pkg is a package of the module with its types. Tests and files of other systems are read as names
// only: see program.tests and program.others.
type pkg struct {
	listed
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
	cmd := exec.Command("go", "list", "-deps", "-export",
		"-json=ImportPath,Dir,Export,Name,GoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles,Imports,DepOnly,Module", "./...")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	p := &program{fset: token.NewFileSet(), root: root, own: map[string]*pkg{}}
	exports := map[string]string{}
	p.from = importer.ForCompiler(p.fset, "gc",
		func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := d.Decode(&l); err == io.EOF {
			return p, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		exports[l.ImportPath] = l.Export
		if l.DepOnly {
			continue
		}
		if err := p.check(l); err != nil {
			return nil, err
		}
	}
}

// Import returns the package that was checked from source, or else the one of the export data.
func (p *program) Import(path string) (*types.Package, error) {
	if own := p.own[path]; own != nil {
		return own.types, nil
	}
	return p.from.Import(path)
}

func (p *program) check(l listed) error {
	k := &pkg{listed: l, info: &types.Info{
		Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Types: map[ast.Expr]types.TypeAndValue{},
	}}
	for _, name := range l.GoFiles {
		file, err := parser.ParseFile(p.fset, filepath.Join(l.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		k.files = append(k.files, file)
	}
	conf := types.Config{Importer: p}
	var err error
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
