// Package golist lists the packages of a module for the tools that check its code.
package golist

import (
	"bytes"
	"encoding/json"
	"errors"
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
)

// Package describes a package of the module, with the fields that go list reports.
type Package struct {
	ImportPath, Dir, Export, Name string
	GoFiles, IgnoredGoFiles       []string
	TestGoFiles, XTestGoFiles     []string
	Imports                       []string
	DepOnly                       bool // whether the package is listed only because another one imports it
	Module                        *struct{ Path string }
}

// fields lists the fields of Package in the form that the flag -json of go list takes.
const fields = "ImportPath,Dir,Export,Name,GoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles,Imports,DepOnly,Module"

// List returns the packages that match a pattern. A package comes after the packages that it
// imports. List also returns an importer, which reads the compiled form of all imported packages.
// It runs go list in the current folder.
func List(fset *token.FileSet, pattern string) ([]Package, types.Importer, error) {
	cmd := exec.Command("go", "list", "-deps", "-export", "-json="+fields, pattern)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("go list: %w", err)
	}
	exports := map[string]string{}
	from := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	var own []Package
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p Package
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return own, from, nil
		} else if err != nil {
			return nil, nil, fmt.Errorf("go list: %w", err)
		}
		exports[p.ImportPath] = p.Export
		if !p.DepOnly {
			own = append(own, p)
		}
	}
}

// Parse parses the package's files for this system. It leaves out tests.
func (p *Package) Parse(fset *token.FileSet) ([]*ast.File, error) {
	var files []*ast.File
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}
