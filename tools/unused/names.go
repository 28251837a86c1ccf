package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
)

// names are the identifiers of files that are parsed but not type-checked. They err on the side of
// use: an identifier counts for every object with its name that the file can see.
type names struct {
	// plain has, per folder, the identifiers of the files in it.
	plain map[string]map[string]bool
	// of has, per import path, the identifiers selected from it by files of other folders.
	of map[string]map[string]bool
	// selected has the identifiers after a dot, wherever: methods.
	selected map[string]bool
}

func newNames() *names {
	return &names{plain: map[string]map[string]bool{}, of: map[string]map[string]bool{}, selected: map[string]bool{}}
}

// add parses a file of a folder.
func (n *names) add(dir, name string) error {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	imports := imported(file)
	put := func(in map[string]map[string]bool, key, name string) {
		if in[key] == nil {
			in[key] = map[string]bool{}
		}
		in[key][name] = true
	}
	ast.Inspect(file, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.Ident:
			put(n.plain, dir, x.Name)
		case *ast.SelectorExpr:
			if id, ok := x.X.(*ast.Ident); ok && imports[id.Name] != "" {
				put(n.of, imports[id.Name], x.Sel.Name)
			} else {
				n.selected[x.Sel.Name] = true
			}
		}
		return true
	})
	return nil
}

// imported returns the paths that a file imports by the names that it uses for them. The name of a
// package is taken to be the last part of its path.
func imported(file *ast.File) map[string]string {
	imports := map[string]string{}
	for _, i := range file.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			continue
		}
		name := path[strings.LastIndex(path, "/")+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		imports[name] = path
	}
	return imports
}

// addModule parses the files of a nested module, which go list does not show.
func (n *names) addModule(root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == "testdata" {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		return n.add(filepath.Dir(path), d.Name())
	})
}
