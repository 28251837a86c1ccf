package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// wrapFiles divides wide lines of code, and rewraps wide comments and documents.
func wrapFiles(files []string) error {
	for _, path := range files {
		ext := filepath.Ext(path)
		if ext != ".go" && ext != ".md" || strings.Contains("/"+path, "/testdata/") {
			continue
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		wrapped := wrapMarkdown(src)
		if ext == ".go" {
			if wrapped, err = wrapGo(path, src); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
		if bytes.Equal(src, wrapped) {
			continue
		}
		if err := os.WriteFile(path, wrapped, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func wrapGo(path string, src []byte) ([]byte, error) {
	wrapped, err := breakCode(path, src)
	if err != nil {
		return nil, err
	}
	wrapped, err = wrapComments(path, wrapped)
	if err == nil && !sameTokens(src, wrapped) {
		err = errors.New("its code would change")
	}
	return wrapped, err
}

// wrapComments rewraps the comments of a file: each paragraph, and each item of a list, that has a
// line over maxComment. It does not change anything else: code blocks, tables, directives,
// headings, the expected output of examples, comments in /* */, and comments after code.
func wrapComments(path string, src []byte) ([]byte, error) {
	if generated.Match(src) {
		return src, nil
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(string(src), "\n")
	var out []string
	next := 0 // the first line of the file that is not in out yet
	for _, group := range file.Comments {
		first := fset.Position(group.Pos()).Line - 1
		if !strings.HasPrefix(strings.TrimSpace(lines[first]), "//") || first < next {
			continue
		}
		out = append(out, lines[next:first]...)
		indent, _, _ := strings.Cut(lines[first], "//")
		for _, text := range wrapGroup(group, maxComment-columns(indent)-len("// ")) {
			out = append(out, indent+text)
		}
		next = first + len(group.List)
	}
	wrapped := []byte(strings.Join(append(out, lines[next:]...), "\n"))
	if bytes.Equal(src, wrapped) {
		return src, nil
	}
	return format.Source(wrapped)
}

// wrapGroup returns the lines of a comment, with their markers.
func wrapGroup(group *ast.CommentGroup, width int) (out []string) {
	lines := commentLines(group)
	for start := 0; start < len(lines); {
		kind, end := kindOf(lines[start]), blockEnd(lines, start)
		if (kind == lineText || kind == lineItem) && tooWide(lines[start:end], width) {
			out = append(out, wrapBlock(lines[start:end], width)...)
		} else {
			for _, c := range group.List[start:end] {
				out = append(out, c.Text)
			}
		}
		start = end
	}
	return out
}

// wrapBlock wraps a paragraph or an item of a list. Only the first line of an item has the marker.
func wrapBlock(block []string, width int) (out []string) {
	first := marker.FindString(block[0])
	words := strings.Fields(block[0][len(first):])
	for _, line := range block[1:] {
		words = append(words, strings.Fields(line)...)
	}
	prefix := first
	for _, line := range fill(words, width-len(first)) {
		out = append(out, "// "+prefix+line)
		prefix = strings.Repeat(" ", len(first))
	}
	return out
}

// tooWide reports whether a block has a line that is too wide. It returns false for a block with
// aligned columns.
func tooWide(lines []string, width int) bool {
	wide := false
	for _, line := range lines {
		text := strings.TrimSpace(marker.ReplaceAllString(line, ""))
		if strings.Contains(text, "  ") || strings.Contains(text, "\t") {
			return false
		}
		wide = wide || columns(line) > width
	}
	return wide
}

// fill distributes words over lines. No line begins with a word that looks like the marker of an
// item.
func fill(words []string, width int) (lines []string) {
	line := ""
	for i, word := range words {
		need := word
		if i+1 < len(words) && marker.MatchString(words[i+1]+" ") {
			need += " " + words[i+1]
		}
		switch {
		case line == "":
			line = word
		case columns(line)+1+columns(need) > width && !marker.MatchString(word+" "):
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}
