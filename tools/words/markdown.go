package main

import (
	"regexp"
	"strings"
)

var (
	code       = regexp.MustCompile("`[^`]*`")
	linkTarget = regexp.MustCompile(`\]\([^)]*\)`)
)

// markdownFile finds the patterns in a document. It ignores code, headings and HTML comments.
func markdownFile(path string, src []byte) (found []finding) {
	var block paragraph
	end := func() {
		found = append(found, block.findings(path)...)
		block = paragraph{}
	}
	var p page
	for i, line := range strings.Split(string(src), "\n") {
		text := strings.TrimSpace(line)
		switch {
		case p.skips(text):
			end()
			continue
		case text == "" || strings.HasPrefix(text, "#") || strings.HasPrefix(text, "<!--"),
			block.text == "" && strings.HasPrefix(line, "    "):
			end()
			continue
		case strings.HasPrefix(text, "|"):
			end()
			for _, cell := range strings.Split(strings.Trim(prose(text), "|"), "|") {
				block.add(i+1, strings.TrimSpace(cell))
				end()
			}
			continue
		case item.MatchString(line):
			end()
			text = marker.ReplaceAllString(line, "")
		}
		block.add(i+1, prose(text))
	}
	end()
	return append(found, wideText(path, src)...)
}

// wideText finds the lines of a document that are too wide.
func wideText(path string, src []byte) (found []finding) {
	p := page{lines: strings.Split(string(src), "\n")}
	for start := 0; start < len(p.lines); {
		end, text := p.next(start)
		for n := start; text && n < end; n++ {
			if isWide(p.lines[start:end], n-start) {
				found = append(found, finding{
					path: path, line: n + 1, name: wideDocument, text: strings.TrimSpace(p.lines[n]),
					better: "a sentence a line, or at most 100 columns",
				})
			}
		}
		start = end
	}
	return found
}

// prose returns a line with placeholders for code and links, so that no pattern is found in them.
func prose(line string) string {
	line = linkTarget.ReplaceAllString(line, "]")
	line = code.ReplaceAllStringFunc(line, func(s string) string { return strings.Repeat("x", len(s)) })
	return strings.NewReplacer("**", "", "[", "", "]", "").Replace(line)
}
