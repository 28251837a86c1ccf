package main

import (
	"regexp"
	"strings"
)

// page divides a document into blocks: paragraphs, items of lists, and other lines.
type page struct {
	lines []string
	until string // the prefix of the line that ends a part that is not text; empty outside of such a part
}

// next returns the end of the block that begins at a line, and whether the block is text that can
// be wrapped.
func (p *page) next(start int) (end int, text bool) {
	line := p.lines[start]
	if p.skips(strings.TrimSpace(line)) {
		return start + 1, false
	}
	if !isProse(line) || strings.HasPrefix(line, "    ") && !item.MatchString(line) {
		return start + 1, false
	}
	end = start + 1
	for end < len(p.lines) && isProse(p.lines[end]) && !item.MatchString(p.lines[end]) {
		end++
	}
	return end, true
}

// skips reports whether a line belongs to a code block, or to a part that a program writes.
func (p *page) skips(line string) bool {
	switch {
	case p.until != "":
		if strings.HasPrefix(line, p.until) {
			p.until = ""
		}
		return true
	case strings.HasPrefix(line, "```"):
		p.until = "```"
	case writtenBy.MatchString(line):
		p.until = "<!-- end of "
	}
	return p.until != ""
}

var writtenBy = regexp.MustCompile(`^<!-- .*written by`)

var notProse = regexp.MustCompile("^\\s*(?:$|#|\\||<|>|```|!\\[)")

func isProse(line string) bool { return !notProse.MatchString(line) }

var sentence = regexp.MustCompile(`[.!?] +[A-Z*]`)

// endsSentence matches a line that ends with a sentence.
var endsSentence = regexp.MustCompile("[.!?:][)\"*`]*\\s*$")

// isWide reports whether line n of a block is too wide. A line that is one sentence or one word may
// have any width.
func isWide(block []string, n int) bool {
	line := block[n]
	if columns(line) <= maxComment || len(strings.Fields(line)) == 1 {
		return false
	}
	begins := n == 0 || endsSentence.MatchString(block[n-1])
	ends := n == len(block)-1 || endsSentence.MatchString(line)
	return !begins || !ends || sentence.MatchString(line)
}

// wrapMarkdown wraps each paragraph and item of a document that has a line over maxComment, unless
// each of its lines is a sentence. Tables, code and headings do not change.
func wrapMarkdown(src []byte) []byte {
	p := page{lines: strings.Split(string(src), "\n")}
	var out []string
	for start := 0; start < len(p.lines); {
		end, text := p.next(start)
		block := p.lines[start:end]
		if text && anyWide(block) {
			block = wrapProse(block)
		}
		out = append(out, block...)
		start = end
	}
	return []byte(strings.Join(out, "\n"))
}

// anyWide reports whether a block has a line that is too wide, and no line that ends with a hard
// line break of Markdown.
func anyWide(block []string) bool {
	wide := false
	for n, line := range block {
		if strings.HasSuffix(line, "  ") || strings.HasSuffix(line, "\\") {
			return false
		}
		wide = wide || isWide(block, n)
	}
	return wide
}

func wrapProse(block []string) (out []string) {
	first := marker.FindString(block[0])
	if first == "" {
		first = block[0][:len(block[0])-len(strings.TrimLeft(block[0], " "))]
	}
	words := strings.Fields(block[0][len(first):])
	for _, line := range block[1:] {
		words = append(words, strings.Fields(line)...)
	}
	prefix := first
	for _, line := range fill(words, maxComment-len(first)) {
		out = append(out, prefix+line)
		prefix = strings.Repeat(" ", len(first))
	}
	return out
}
