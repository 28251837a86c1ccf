package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/imports"
)

// edit replaces the bytes from start to end by text.
type edit struct {
	start, end int
	text       string
}

// write edits the files and moves them to their folders.
func (m *mover) write() error {
	byFile := map[*source][]use{}
	for _, u := range m.uses {
		byFile[u.src] = append(byFile[u.src], u)
	}
	for _, s := range m.sorted() {
		if len(byFile[s]) == 0 && filepath.Dir(s.rel) != m.dir {
			continue
		}
		m.edit(s, byFile[s])
	}
	for _, x := range slices.Sorted(maps.Keys(m.forTests)) {
		fmt.Println("export_test.go:", x)
	}
	if len(m.failed) > 0 {
		return fmt.Errorf("\n%s", strings.Join(m.failed, "\n"))
	}
	for _, s := range m.sorted() {
		if len(s.edits) == 0 && filepath.Dir(s.rel) == s.target {
			continue
		}
		if err := m.save(s); err != nil {
			return fmt.Errorf("%s: %w", s.rel, err)
		}
	}
	return nil
}

// editor collects the edits of one file.
type editor struct {
	*mover
	s    *source
	of   map[*ast.Ident]*decl // the declaration that each identifier of the file uses
	done map[*ast.Ident]bool
}

func (m *mover) edit(s *source, uses []use) {
	e := &editor{mover: m, s: s, of: map[*ast.Ident]*decl{}, done: map[*ast.Ident]bool{}}
	for _, u := range uses {
		e.of[u.id] = u.decl
	}
	e.clause()
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			e.function(n)
		case *ast.GenDecl:
			for _, spec := range n.Specs {
				e.spec(n, spec)
			}
		case *ast.CallExpr:
			e.call(n)
		case *ast.SelectorExpr:
			e.selector(n)
		case *ast.Ident:
			e.ident(n)
		}
		return true
	})
}

func (e *editor) offset(p token.Pos) int { return e.fset.Position(p).Offset }

// replace adds an edit that replaces the text between two positions.
func (e *editor) replace(from, to token.Pos, text string) {
	e.s.edits = append(e.s.edits, edit{e.offset(from), e.offset(to), text})
}

func (e *editor) fail(at token.Pos, format string, args ...any) {
	e.failed = append(e.failed, fmt.Sprintf("%s: "+format, append([]any{e.fset.Position(at)}, args...)...))
}

// clause changes the package's name in the package clause.
func (e *editor) clause() {
	base := filepath.Base(e.s.rel)
	if filepath.Dir(e.s.rel) != e.dir || e.s.target == e.dir && !e.outside[base] {
		return
	}
	name := path.Base(e.s.target)
	if e.s.external {
		name += "_test"
	}
	e.replace(e.s.file.Name.Pos(), e.s.file.Name.End(), name)
}

// function turns a method into a function, because its type is in another package.
func (e *editor) function(n *ast.FuncDecl) {
	d := e.decls[e.placeOf(e.s.pkg.TypesInfo.Defs[n.Name])]
	if d == nil {
		return
	}
	e.comment(n.Doc, d)
	if !d.detached {
		return
	}
	if ast.IsExported(d.object.Name()) {
		fmt.Println("an exported method, perhaps of an interface:", d.at, d.object.Name())
	}
	recv := n.Recv.List[0]
	if len(recv.Names) == 0 {
		e.replace(recv.Type.Pos(), recv.Type.Pos(), "_ ")
	}
	// "func (s *T) name(" becomes "func name(s *T, ". The receiver stays at its place, because
	// there may be other edits of it. The name moves in front of it.
	e.replace(n.Recv.Opening, n.Recv.Opening+1, d.name+"(")
	e.replace(n.Recv.Closing, n.Type.Params.Opening+1, comma(n.Type.Params.NumFields()))
	e.done[n.Name] = true
}

func comma(n int) string {
	if n > 0 {
		return ", "
	}
	return ""
}

// call changes a call of a method that becomes a function into a call of the function.
func (e *editor) call(n *ast.CallExpr) {
	sel, ok := n.Fun.(*ast.SelectorExpr)
	if !ok {
		return
	}
	d := e.of[sel.Sel]
	selection := e.s.pkg.TypesInfo.Selections[sel]
	if d == nil || !d.detached || selection == nil || selection.Kind() != types.MethodVal {
		return
	}
	path, t := e.embedding(selection, e.s.pkg.TypesInfo.Types[sel.X].Type)
	_, wantsPointer := d.object.(*types.Func).Signature().Recv().Type().(*types.Pointer)
	_, isPointer := t.Underlying().(*types.Pointer)
	prefix := ""
	if wantsPointer && !isPointer {
		prefix = "&"
	} else if !wantsPointer && isPointer {
		prefix = "*"
	}
	e.replace(sel.X.Pos(), sel.X.Pos(), e.qualified(d, n)+"("+prefix)
	e.replace(sel.X.End(), n.Lparen+1, path+comma(len(n.Args)))
	e.done[sel.Sel] = true
}

// embedding returns the path of the fields through which a method is promoted, and the type of the
// last one.
func (e *editor) embedding(selection *types.Selection, t types.Type) (path string, end types.Type) {
	index := selection.Index()
	for _, i := range index[:len(index)-1] {
		if p, ok := t.Underlying().(*types.Pointer); ok {
			t = p.Elem()
		}
		f := t.Underlying().(*types.Struct).Field(i)
		name := f.Name()
		if d := e.decls[e.placeOf(f)]; d != nil {
			name = d.name
		}
		path += "." + name
		t = f.Type()
	}
	return path, t
}

// selector changes a name that follows the name of a package, and a method expression.
func (e *editor) selector(n *ast.SelectorExpr) {
	d := e.of[n.Sel]
	if d == nil || e.done[n.Sel] {
		return
	}
	if d.detached {
		e.done[n.Sel] = true
		if sl := e.s.pkg.TypesInfo.Selections[n]; sl != nil && sl.Kind() == types.MethodExpr {
			e.replace(n.Pos(), n.End(), e.qualified(d, n))
			return
		}
		e.fail(n.Pos(), "%s is used as a value", d.object.Name())
		return
	}
	x, ok := n.X.(*ast.Ident)
	if !ok {
		return
	}
	if _, ok := e.s.pkg.TypesInfo.Uses[x].(*types.PkgName); ok {
		e.replace(n.Pos(), n.End(), e.qualified(d, n))
		e.done[n.Sel] = true
	}
}

// ident changes a name that is declared or used.
func (e *editor) ident(n *ast.Ident) {
	if e.done[n] {
		return
	}
	e.done[n] = true
	name := n.Name
	if o := e.s.pkg.TypesInfo.Defs[n]; o != nil && e.decls[e.placeOf(o)] != nil {
		d := e.decls[e.placeOf(o)]
		if name = d.name; d.embedded != "" && e.decls[d.embedded] != nil {
			name = e.qualified(e.decls[d.embedded], n)
		}
	} else if d := e.of[n]; d != nil && (d.field || d.method) {
		name = e.nameIn(d)
	} else if d != nil {
		name = e.qualified(d, n)
	}
	if name != n.Name {
		e.replace(n.Pos(), n.End(), name)
	}
}

// qualified returns the name of a declaration as the file writes it, with the package's name if
// necessary.
func (e *editor) qualified(d *decl, at ast.Node) string {
	if inside(e.s, d) {
		return d.name
	}
	pkg := path.Base(d.src.target)
	whole := e.module + "/" + d.src.target
	e.s.imports[whole] = pkg
	if scope := e.s.pkg.Types.Scope().Innermost(at.Pos()); scope != nil {
		if _, o := scope.LookupParent(pkg, at.Pos()); o != nil {
			if p, ok := o.(*types.PkgName); !e.leaves(o, pkg) && (!ok || p.Imported().Path() != whole) {
				e.fail(at.Pos(), "%s hides the package", pkg)
			}
		}
	}
	return pkg + "." + e.nameIn(d)
}

// leaves reports whether the declaration of a name is renamed, or moves to a package to which the
// file does not belong.
func (e *editor) leaves(o types.Object, name string) bool {
	d := e.decls[e.placeOf(o)]
	return d != nil && (d.name != name || d.src.target != e.s.target)
}

// nameIn returns the name of a declaration in the file, without the package's name. For an outside
// test, it also records the names that export_test.go must export.
func (e *editor) nameIn(d *decl) string {
	if inside(e.s, d) || ast.IsExported(d.name) {
		return d.name
	}
	name := export(d.name)
	e.forTests[string(d.at)+" "+name] = true
	return name
}

func (e *editor) spec(g *ast.GenDecl, spec ast.Spec) {
	var names []*ast.Ident
	var doc *ast.CommentGroup
	switch x := spec.(type) {
	case *ast.TypeSpec:
		names, doc = []*ast.Ident{x.Name}, x.Doc
	case *ast.ValueSpec:
		names, doc = x.Names, x.Doc
	}
	if doc == nil && len(g.Specs) == 1 {
		doc = g.Doc
	}
	for _, id := range names {
		if d := e.decls[e.placeOf(e.s.pkg.TypesInfo.Defs[id])]; d != nil {
			e.comment(doc, d)
		}
	}
}

// comment changes the name at the beginning of a doc comment.
func (e *editor) comment(doc *ast.CommentGroup, d *decl) {
	if doc == nil || d.name == d.object.Name() {
		return
	}
	c := doc.List[0]
	if regexp.MustCompile(`^// ` + regexp.QuoteMeta(d.object.Name()) + `\b`).MatchString(c.Text) {
		start := c.Pos() + 3
		e.replace(start, start+token.Pos(len(d.object.Name())), d.name)
	}
}

func (m *mover) save(s *source) error {
	old := filepath.Join(m.root, s.rel)
	text, err := os.ReadFile(old)
	if err != nil {
		return err
	}
	slices.SortStableFunc(s.edits, func(a, b edit) int {
		if a.start != b.start {
			return a.start - b.start
		}
		// an insertion comes before a replacement that begins at the same byte
		return min(a.end-a.start, 1) - min(b.end-b.start, 1)
	})
	var out strings.Builder
	at := 0
	for _, e := range s.edits {
		if e.start < at {
			return fmt.Errorf("edits overlap at %d: %q", e.start, e.text)
		}
		out.Write(text[at:e.start])
		out.WriteString(e.text)
		at = e.end
	}
	out.Write(text[at:])
	result, err := m.fix(s, []byte(out.String()))
	if err != nil {
		return err
	}
	target := filepath.Join(m.root, s.target, filepath.Base(s.rel))
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	if target != old {
		if _, err := os.Stat(target); err == nil {
			return fmt.Errorf("%s exists", target)
		}
		if err := os.Remove(old); err != nil {
			return err
		}
	}
	return os.WriteFile(target, result, 0o644)
}

// fix adds missing imports to a file, and removes unused imports.
func (m *mover) fix(s *source, text []byte) ([]byte, error) {
	fset, file, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, text)
	}
	for p := range s.imports {
		astutil.AddImport(fset, file, p)
	}
	for _, group := range astutil.Imports(fset, file) {
		for _, spec := range group {
			p := strings.Trim(spec.Path.Value, `"`)
			if strings.HasPrefix(p, m.module+"/") && spec.Name == nil && !astutil.UsesImport(file, p) {
				astutil.DeleteImport(fset, file, p)
			}
		}
	}
	text, err = format(fset, file)
	if err != nil {
		return nil, err
	}
	return imports.Process(s.rel, text,
		&imports.Options{Comments: true, TabIndent: true, TabWidth: 8, FormatOnly: true})
}
