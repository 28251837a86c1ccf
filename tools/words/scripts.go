package main

import (
	"path/filepath"
	"regexp"
	"strings"
)

// commentSigns maps the ending of a file to the sign that begins a comment in it.
var commentSigns = map[string]string{
	".js": "//", ".mjs": "//", ".yml": "#", ".yaml": "#", ".sh": "#", ".awk": "#",
}

// commentSign returns the sign that begins a comment in a script, a Makefile or a configuration. It
// returns "" for a file of another kind.
func commentSign(path string, src []byte) string {
	if filepath.Base(path) == "Makefile" || filepath.Ext(path) == "" && strings.HasPrefix(string(src), "#!") {
		return "#"
	}
	return commentSigns[filepath.Ext(path)]
}

// scriptFile returns the findings in the comments of a script, a Makefile or a configuration. Lines
// of code may have any width.
func scriptFile(path string, src []byte, sign string) []finding {
	f := &scanned{
		path: path, lines: strings.Split(string(src), "\n"),
		excused: map[int]bool{}, narrow: map[int]bool{},
	}
	var block []string // the lines of the comment so far
	end := func(n int) {
		f.lineComments(n-len(block), block)
		block = nil
	}
	within := false // whether the line is in a comment between /* and */
	for i, line := range f.lines {
		text := strings.TrimSpace(line)
		switch {
		case i == 0 && strings.HasPrefix(text, "#!"):
			f.excused[1] = true
		case within || sign == "//" && strings.HasPrefix(text, "/*"):
			within = !strings.Contains(text, "*/")
			text = strings.TrimPrefix(strings.TrimSuffix(strings.TrimSuffix(text, "*/"), "*"), "/*")
			block = append(block, strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(text, "*"), "*"), " "))
		case strings.HasPrefix(text, sign):
			block = append(block, strings.TrimPrefix(text[len(sign):], " "))
		default:
			end(i + 1)
			f.excused[i+1] = true
			f.trailing(i+1, line, sign)
		}
	}
	end(len(f.lines) + 1)
	f.widths()
	return f.found
}

var quotes = regexp.MustCompile("[\"'`]")

// trailing looks for patterns in a comment after code. A sign between quotation marks begins no
// comment.
func (f *scanned) trailing(n int, line, sign string) {
	for at := 0; ; {
		next := strings.Index(line[at:], " "+sign)
		if next < 0 {
			return
		}
		at += next
		text := strings.TrimLeft(line[at+1:], sign)
		if strings.HasPrefix(text, " ") && len(quotes.FindAllString(line[:at], -1))%2 == 0 {
			f.read([]string{text}, n)
			return
		}
		at++
	}
}
