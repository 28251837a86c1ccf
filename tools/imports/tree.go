package main

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// internal is the folder whose packages need a list of allowed packages and a layer.
const internal = "internal/"

// tree holds the Go files of a module with their imports.
type tree struct {
	module string
	files  []file
}

// file is a Go file. Its imports are the packages of the module that it imports, as folders.
type file struct {
	path    string
	imports []string
}

func (f *file) folder() string { return path.Dir(f.path) }

func (f *file) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

// load reads the imports of all Go files of the module in a folder, without its nested modules.
func load(root string) (*tree, error) {
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, err
	}
	t := &tree{}
	for line := range strings.Lines(string(mod)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "module "); ok {
			t.module = name
		}
	}
	err = filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return t.enter(root, at, d.Name())
		case filepath.Ext(at) == ".go":
			return t.read(root, at)
		}
		return nil
	})
	if err == nil && len(t.files) == 0 {
		err = errors.New("there are no Go files")
	}
	return t, err
}

// enter skips the folders that the go command skips.
func (t *tree) enter(root, at, name string) error {
	if at == root {
		return nil
	}
	if name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return filepath.SkipDir
	}
	if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
		return filepath.SkipDir
	}
	return nil
}

func (t *tree) read(root, at string) error {
	parsed, err := parser.ParseFile(token.NewFileSet(), at, nil, parser.ImportsOnly)
	if err != nil {
		return err
	}
	at, err = filepath.Rel(root, at)
	if err != nil {
		return err
	}
	f := file{path: filepath.ToSlash(at)}
	for _, spec := range parsed.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		if folder, ok := t.folder(name); ok {
			f.imports = append(f.imports, folder)
		}
	}
	t.files = append(t.files, f)
	return nil
}

// folder returns the folder of an import path. It returns false for a path outside of the module.
func (t *tree) folder(name string) (string, bool) {
	if name == t.module {
		return ".", true
	}
	return strings.CutPrefix(name, t.module+"/")
}

// exists reports whether a folder has Go files.
func (t *tree) exists(folder string) bool {
	return slices.ContainsFunc(t.files, func(f file) bool { return f.folder() == folder })
}

// internals returns the packages under internal/, sorted.
func (t *tree) internals() (folders []string) {
	for _, f := range t.files {
		if strings.HasPrefix(f.path, internal) {
			folders = append(folders, f.folder())
		}
	}
	slices.Sort(folders)
	return slices.Compact(folders)
}

// hasCode reports whether a folder has a Go file that is not a test.
func (t *tree) hasCode(folder string) bool {
	return slices.ContainsFunc(t.files, func(f file) bool { return f.folder() == folder && !f.isTest() })
}
