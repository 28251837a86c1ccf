package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxComment = 100
	maxCode    = 120
	// tabColumns is the width of a tab at the start of a line.
	tabColumns = 4
	// longLiteral is the width in columns from which a string literal may make its line too wide.
	longLiteral = 60
)

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// goFile returns the findings in a Go file. If texts is true, it also looks for patterns in string
// literals.
func goFile(path string, src []byte, texts bool) ([]finding, error) {
	if generated.Match(src) {
		return nil, nil
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := &scanned{
		path: path, lines: strings.Split(string(src), "\n"), fset: fset,
		excused: map[int]bool{}, narrow: map[int]bool{},
	}
	for _, group := range file.Comments {
		f.comment(group)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			f.literal(lit, texts)
		}
		return true
	})
	f.widths()
	return f.found, nil
}

// scanned is a file with its findings so far.
type scanned struct {
	path  string
	lines []string
	fset  *token.FileSet // nil if the file is not a Go file
	found []finding
	// excused has the numbers of the lines that may have any width.
	excused map[int]bool
	// narrow has the numbers of the lines that hold only a comment.
	narrow map[int]bool
}

func (f *scanned) line(pos token.Pos) int { return f.fset.Position(pos).Line }

// comment looks for patterns in the paragraphs of a comment, and records how wide its lines may be.
func (f *scanned) comment(group *ast.CommentGroup) {
	f.lineComments(f.line(group.Pos()), commentLines(group))
}

// lineComments does the same for the lines of a comment without their signs.
func (f *scanned) lineComments(first int, lines []string) {
	for start := 0; start < len(lines); {
		kind := kindOf(lines[start])
		end := blockEnd(lines, start)
		for i := start; i < end; i++ {
			f.noteComment(first+i, kind, lines[i], i > 0)
		}
		if kind == lineText || kind == lineItem {
			f.read(lines[start:end], first+start)
		} else if _, remark, ok := strings.Cut(lines[start], "// "); ok && kind == lineCode {
			f.read([]string{remark}, first+start)
		}
		start = end
	}
}

// noteComment records how wide a line of a comment may be.
func (f *scanned) noteComment(n int, kind lineKind, text string, within bool) {
	switch {
	case kind == lineOutput || kind == lineDirective || strings.Contains(text, "://"):
		f.excused[n] = true
	case kind != lineCode && startsComment(f.lines[n-1], within):
		f.narrow[n] = true
	}
}

// read looks for patterns in a paragraph or in an item of a list.
func (f *scanned) read(lines []string, first int) {
	var block paragraph
	for i, text := range lines {
		if i == 0 {
			text = marker.ReplaceAllString(text, "")
		}
		block.add(first+i, strings.TrimSpace(text))
	}
	f.check(&block)
}

// startsComment reports whether a line holds only a comment, without code before it.
func startsComment(line string, within bool) bool {
	line = strings.TrimSpace(line)
	return within || strings.HasPrefix(line, "//") || strings.HasPrefix(line, "/*") || strings.HasPrefix(line, "#")
}

// literal looks for patterns in a string literal. It allows any width for the lines of a long
// literal.
func (f *scanned) literal(lit *ast.BasicLit, texts bool) {
	first, last := f.line(lit.Pos()), f.line(lit.End())
	if first != last || utf8.RuneCountInString(lit.Value) >= longLiteral {
		for n := first; n <= last; n++ {
			f.excused[n] = true
		}
	}
	text, err := strconv.Unquote(lit.Value)
	if !texts || err != nil || len(strings.Fields(text)) < 3 {
		return
	}
	for i, line := range strings.Split(text, "\n") {
		n := first
		if last > first {
			n += i
		}
		block := paragraph{}
		block.add(n, strings.TrimSpace(line))
		f.check(&block)
	}
}

func (f *scanned) check(p *paragraph) {
	f.found = append(f.found, p.findings(f.path)...)
	*p = paragraph{}
}

// widths finds the lines that are too wide.
func (f *scanned) widths() {
	for i, line := range f.lines {
		n := i + 1
		width, limit, name := columns(line), maxCode, wideCode
		if f.narrow[n] {
			limit, name = maxComment, wideComment
		}
		if width <= limit || f.excused[n] {
			continue
		}
		f.found = append(f.found, finding{
			path: f.path, line: n, name: name, text: strings.TrimSpace(line),
			better: strconv.Itoa(width) + " columns, more than " + strconv.Itoa(limit),
		})
	}
}

var alignment = regexp.MustCompile(`(\S) {2,}`)

// columns returns the width of a line. Spaces that gofmt inserts to align columns count as one.
func columns(line string) int {
	line = alignment.ReplaceAllString(line, "$1 ")
	return utf8.RuneCountInString(line) + strings.Count(line, "\t")*(tabColumns-1)
}
