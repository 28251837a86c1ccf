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

// names holds the identifiers of files that were parsed but not type-checked. An identifier counts
// as a use of every declaration with that name that the file can see. So unused code may be missed,
// but used code is never reported.
type names struct {
	// plain maps a folder to the identifiers in its files.
	plain map[string]map[string]bool
	// of maps an import path to the identifiers that code selects from that package, such as B in
	// a.B.
	of map[string]map[string]bool
	// selected holds the identifiers that code selects from anything else than a package: methods
	// and fields.
	selected map[string]bool
}

func newNames() *names {
	return &names{plain: map[string]map[string]bool{}, of: map[string]map[string]bool{}, selected: map[string]bool{}}
}

// add parses the file name in the folder dir, and records its identifiers.
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

// imported maps the local names of a file's imports to their paths. Without a local name, it takes
// the last part of the path.
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

// addModule parses the files of a nested module. `go list` does not list them.
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
