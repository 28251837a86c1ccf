// Declarations moves declarations of a package to another file of it. It is run in the package's
// folder:
//
//	declarations list.go listOf replyList listSource listSource.Next
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/imports"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: declarations FILE.go NAME|TYPE.METHOD...")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "declarations:", err)
		os.Exit(1)
	}
}

// part is a declaration that is moved, with its comment.
type part struct {
	file       string
	start, end int
	text       string
}

type mover struct {
	target  string
	wanted  map[string]bool
	pkg     string
	imports map[string]bool // the imports of the files that the declarations come from
	parts   []part
}

func run(target string, names []string) error {
	m := &mover{target: target, wanted: map[string]bool{}, imports: map[string]bool{}}
	for _, n := range names {
		m.wanted[n] = true
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		return err
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") == strings.HasSuffix(target, "_test.go") && name != target {
			if err := m.find(name); err != nil {
				return err
			}
		}
	}
	if len(m.wanted) > 0 {
		return fmt.Errorf("there is no %s", strings.Join(slices.Sorted(maps.Keys(m.wanted)), ", "))
	}
	if err := m.remove(); err != nil {
		return err
	}
	return m.add()
}

// find records the wanted declarations of a file.
func (m *mover) find(name string) error {
	src, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, parser.ParseComments)
	if err != nil {
		return err
	}
	for _, d := range f.Decls {
		names, doc := named(d)
		hits := 0
		for _, n := range names {
			if m.wanted[n] {
				hits++
			}
		}
		if hits == 0 {
			continue
		}
		if hits != len(names) {
			return fmt.Errorf("%s declares %v together", name, names)
		}
		for _, n := range names {
			delete(m.wanted, n)
		}
		start, end := fset.Position(d.Pos()).Offset, fset.Position(d.End()).Offset
		if doc != nil {
			start = fset.Position(doc.Pos()).Offset
		}
		for end < len(src) && src[end] != '\n' { // a comment at the end of the last line belongs to the declaration
			end++
		}
		m.parts = append(m.parts, part{name, start, end, string(src[start:end])})
		m.pkg = f.Name.Name
		m.note(f)
	}
	return nil
}

func (m *mover) note(f *ast.File) {
	for _, im := range f.Imports {
		line := im.Path.Value
		if im.Name != nil {
			line = im.Name.Name + " " + line
		}
		m.imports[line] = true
	}
}

// named returns the names that d declares, and its comment. The name of a method is TYPE.METHOD.
func named(d ast.Decl) (names []string, doc *ast.CommentGroup) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil {
			name = receiver(d.Recv.List[0].Type) + "." + name
		}
		return []string{name}, d.Doc
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names = append(names, n.Name)
				}
			}
		}
		return names, d.Doc
	}
	return nil, nil
}

func receiver(t ast.Expr) string {
	switch x := t.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}

// remove removes the parts from their files. It deletes a file in which no declaration is left.
func (m *mover) remove() error {
	byFile := map[string][]part{}
	for _, p := range m.parts {
		byFile[p.file] = append(byFile[p.file], p)
	}
	for name, parts := range byFile {
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for _, p := range slices.Backward(parts) {
			src = slices.Delete(src, p.start, p.end)
		}
		out, err := imports.Process(name, src, nil)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, out, 0)
		if err != nil {
			return err
		}
		if len(f.Decls) == 0 || len(f.Decls) == 1 && len(f.Imports) > 0 {
			err = os.Remove(name)
		} else {
			err = os.WriteFile(name, out, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// add appends the parts to the target file. It creates the file if it does not exist.
func (m *mover) add() error {
	head, rest := "package "+m.pkg, ""
	if old, err := os.ReadFile(m.target); err == nil {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, m.target, old, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		m.note(f)
		head, rest = string(old[:fset.Position(f.Name.End()).Offset]), string(old[fset.Position(f.Name.End()).Offset:])
		if n := len(f.Decls); n > 0 {
			rest = string(old[fset.Position(f.Decls[n-1].End()).Offset:])
		}
	}
	var b strings.Builder
	b.WriteString(head + "\n\n" + m.importDecl() + "\n" + rest)
	for _, p := range m.parts {
		b.WriteString("\n" + p.text + "\n")
	}
	out, err := imports.Process(m.target, []byte(b.String()), nil)
	if err != nil {
		return err
	}
	return os.WriteFile(m.target, out, 0o644)
}

// importDecl returns an import declaration with three groups: the standard library, other modules,
// and this project. Unused imports are removed later.
func (m *mover) importDecl() string {
	var groups [3][]string
	for _, line := range slices.Sorted(maps.Keys(m.imports)) {
		switch {
		case strings.Contains(line, "sheafdb/sheaf"):
			groups[2] = append(groups[2], "\t"+line)
		case strings.Contains(line, "."):
			groups[1] = append(groups[1], "\t"+line)
		default:
			groups[0] = append(groups[0], "\t"+line)
		}
	}
	var parts []string
	for _, g := range groups {
		if len(g) > 0 {
			parts = append(parts, strings.Join(g, "\n"))
		}
	}
	return "import (\n" + strings.Join(parts, "\n\n") + "\n)"
}
