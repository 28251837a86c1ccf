package main

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// maxLine is the length of the longest allowed line, in characters. A subject of this length fits
// into a line of git log and of an e-mail.
const maxLine = 72

// subjectForm matches "package: what" and "package, package: what".
var subjectForm = regexp.MustCompile(`^[\w./*-]+(, [\w./*-]+)*: \S`)

// faults describes each fault of a commit message.
func faults(message string) (out []string) {
	lines := strings.Split(strings.TrimRight(message, "\n"), "\n")
	subject := lines[0]
	if n := utf8.RuneCountInString(subject); n > maxLine {
		out = append(out, fmt.Sprintf("the subject has %d characters, the limit is %d: %s", n, maxLine, subject))
	}
	if !subjectForm.MatchString(subject) {
		out = append(out, `the subject is not of the form "package: what": `+subject)
	}
	if strings.HasSuffix(subject, ".") {
		out = append(out, "the subject ends with a period: "+subject)
	}
	if len(lines) < 3 {
		return append(out, "there is no body: "+subject)
	}
	if lines[1] != "" {
		out = append(out, "no empty line follows the subject: "+subject)
	}
	for _, line := range lines[2:] {
		if n := utf8.RuneCountInString(line); n > maxLine && canWrap(line) {
			out = append(out, fmt.Sprintf("a line of the body has %d characters, the limit is %d: %s", n, maxLine,
				line))
		}
	}
	return out
}

// canWrap reports whether a line of a body can be divided into two. A single word, such as a URL,
// cannot. Indented lines are code and must not be divided.
func canWrap(line string) bool {
	return !strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "\t") && strings.Contains(line, " ")
}
