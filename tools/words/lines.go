package main

import (
	"go/ast"
	"regexp"
	"strings"
)

// lineKind is the kind of a line in a comment.
type lineKind int

const (
	lineText      lineKind = iota
	lineBlank              // separates paragraphs
	lineDirective          // an instruction for a tool: //go:build, //nolint
	lineItem               // the first line of an item of a list
	lineCode               // an indented line: code, a table, or the second line of an item
	lineHeading
	lineOutput // a line that begins the expected output of an example
)

var (
	directive = regexp.MustCompile(`^//(?:[a-z0-9]+:[a-z0-9]|nolint|sumtype:|export |line |extern )`)
	item      = regexp.MustCompile(`^\s*(?:[-*+•]|\d+[.)])\s+\S`)
	output    = regexp.MustCompile(`(?i)^\s*(?:unordered )?output:`)
)

// commentLines returns the lines of a comment without their markers. A directive keeps its marker.
func commentLines(group *ast.CommentGroup) (lines []string) {
	for _, c := range group.List {
		text := c.Text
		switch {
		case directive.MatchString(text):
			lines = append(lines, text)
		case strings.HasPrefix(text, "//"):
			lines = append(lines, strings.TrimPrefix(text[2:], " "))
		default:
			inner := strings.TrimSuffix(strings.TrimPrefix(text, "/*"), "*/")
			lines = append(lines, strings.Split(inner, "\n")...)
		}
	}
	return lines
}

func kindOf(text string) lineKind {
	switch {
	case strings.TrimSpace(text) == "":
		return lineBlank
	case directive.MatchString(text):
		return lineDirective
	case output.MatchString(text):
		return lineOutput
	case item.MatchString(text):
		return lineItem
	case strings.HasPrefix(text, "# "):
		return lineHeading
	case text[0] == ' ' || text[0] == '\t':
		return lineCode
	}
	return lineText
}

// marker matches the sign or number at the start of an item of a list, with the space around it.
var marker = regexp.MustCompile(`^\s*(?:[-*+•]|\d+[.)])\s+`)

// blockEnd returns the end of the paragraph, the item of a list, or the expected output that begins
// at a line.
func blockEnd(lines []string, start int) int {
	end := start + 1
	kind := kindOf(lines[start])
	indent := strings.Repeat(" ", len(marker.FindString(lines[start])))
	for end < len(lines) && continues(kind, indent, lines[end]) {
		end++
	}
	return end
}

// continues reports whether a line belongs to the same paragraph or item as the line before it. The
// text of an item is indented.
func continues(kind lineKind, indent, line string) bool {
	if kind == lineItem {
		return kindOf(line) == lineCode && strings.HasPrefix(line, indent) && line[len(indent)] != ' '
	}
	return kind == lineOutput || kind == lineText && kindOf(line) == lineText
}

// paragraph is the text of one or more lines.
type paragraph struct {
	text  string
	first []int // for each line, its offset in text
	lines []int // for each line, its number in the file
}

func (p *paragraph) add(line int, text string) {
	if p.text != "" {
		p.text += " "
	}
	p.first = append(p.first, len(p.text))
	p.lines = append(p.lines, line)
	p.text += text
}

// findings returns the findings in a paragraph, each with the line on which it begins.
func (p *paragraph) findings(path string) (found []finding) {
	for _, h := range match(p.text) {
		n := p.lines[0]
		for i, at := range p.first {
			if at <= h.at {
				n = p.lines[i]
			}
		}
		found = append(found, finding{path: path, line: n, name: h.name, text: h.text, better: h.better})
	}
	return found
}
