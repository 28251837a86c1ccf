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
	"slices"
	"strings"
)

// listed is the part of go list's output for a package that is used here.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	DepOnly                 bool
	Module                  *struct{ Path string }
}

// pkg is a package with its types; tests are not a part of it.
type pkg struct {
	path, module string
	fset         *token.FileSet
	files        []*ast.File
	info         *types.Info
}

// name is the path without the module and internal/.
func (p *pkg) name() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.path, p.module+"/"), "internal/")
}

// load reads and type-checks the packages of the module that match a pattern. It imports their
// dependencies from the compiler's export data.
func load(pattern string) ([]*pkg, error) {
	cmd := exec.Command("go", "list", "-deps", "-export", "-json=ImportPath,Dir,Export,GoFiles,DepOnly,Module", pattern)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	exports, own := map[string]string{}, []listed{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := d.Decode(&l); err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		exports[l.ImportPath] = l.Export
		if !l.DepOnly && len(l.GoFiles) > 0 {
			own = append(own, l)
		}
	}
	slices.SortFunc(own, func(a, b listed) int { return strings.Compare(a.ImportPath, b.ImportPath) })
	fset := token.NewFileSet()
	from := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	var pkgs []*pkg
	for _, l := range own {
		p, err := check(fset, from, l)
		if err != nil {
			return nil, err
		}
		pkgs = append(pkgs, p)
	}
	return pkgs, nil
}

func check(fset *token.FileSet, from types.Importer, l listed) (*pkg, error) {
	p := &pkg{path: l.ImportPath, module: l.Module.Path, fset: fset, info: &types.Info{
		Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
	}}
	for _, name := range l.GoFiles {
		file, err := parser.ParseFile(fset, filepath.Join(l.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		p.files = append(p.files, file)
	}
	conf := types.Config{Importer: from}
	if _, err := conf.Check(l.ImportPath, fset, p.files, p.info); err != nil {
		return nil, fmt.Errorf("%s: %w", l.ImportPath, err)
	}
	return p, nil
}
