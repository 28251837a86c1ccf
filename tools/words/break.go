package main

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/scanner"
	"go/token"
	"slices"
	"strings"
)

// maxRounds is how many times a line is divided at most.
const maxRounds = 12

// breakCode divides the lines of code over maxCode in a file. It divides after a comma, an operator
// or the dot of a chain of calls: first outside of brackets, and then as far to the right as
// possible. A comment at the end of such a line moves above it. breakCode leaves lines that may be
// wide, and lines that cannot be divided.
func breakCode(path string, src []byte) ([]byte, error) {
	if generated.Match(src) {
		return src, nil
	}
	for range maxRounds {
		divided, err := breakOnce(path, src)
		if err != nil || bytes.Equal(divided, src) {
			return src, err
		}
		src = divided
	}
	return src, nil
}

func breakOnce(path string, src []byte) ([]byte, error) {
	wide, err := wideLines(path, src)
	if err != nil || len(wide) == 0 {
		return src, err
	}
	places, err := placesToBreak(path, src)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(string(src), "\n")
	for n := range wide {
		lines[n-1] = divideLine(lines[n-1], places[n])
	}
	return format.Source([]byte(strings.Join(lines, "\n")))
}

// wideLines returns the numbers of the lines of code that are too wide.
func wideLines(path string, src []byte) (map[int]bool, error) {
	found, err := goFile(path, src, false)
	wide := map[int]bool{}
	for _, f := range found {
		if f.name == wideCode && !strings.HasPrefix(f.text, "//") {
			wide[f.line] = true
		}
	}
	return wide, err
}

// place is a position at which a line can be divided. A smaller depth is better.
type place struct {
	at, depth int
	comment   bool // whether a comment begins here
}

func divideLine(line string, places []place) string {
	indent := line[:len(line)-len(strings.TrimLeft(line, "\t"))]
	for _, p := range places {
		if p.comment {
			return indent + line[p.at:] + "\n" + strings.TrimRight(line[:p.at], " \t")
		}
	}
	at := bestPlace(line, places, minRest)
	if at == 0 {
		at = bestPlace(line, places, 0)
	}
	if at == 0 {
		return line
	}
	return line[:at] + "\n" + indent + "\t" + strings.TrimLeft(line[at:], " ")
}

// minRest is the width of the part of a line that should move to the next line, in columns.
const minRest = 30

// bestPlace returns the last of the places with the smallest depth. A place must leave at least
// rest columns for the next line. It returns 0 if there is no such place.
func bestPlace(line string, places []place, rest int) int {
	best := place{depth: 1 << 30}
	least := columns(line) - columns(strings.TrimLeft(line, "\t")) + maxCode/5
	for _, p := range places {
		width := columns(line[:p.at])
		if width >= least && width <= maxCode && columns(line)-width >= rest && p.depth <= best.depth {
			best = p
		}
	}
	return best.at
}

// breaker finds the places at which the lines of a file can be divided.
type breaker struct {
	literals map[token.Pos]bool // the opening braces of composite literals
	grouped  map[token.Pos]bool // parameters and fields that share the type of the preceding name
	places   map[int][]place
	line     int       // the line number of the preceding token
	first    int       // the number of open brackets at the start of the line
	inCase   int       // one more than the number of brackets that are open at a case whose list is not complete, or 0
	list     bool      // whether commas outside of brackets separate the items of a list
	open     []bool    // for each open bracket, whether its commas separate the items of a list
	last     [2]string // the two preceding tokens
}

func placesToBreak(path string, src []byte) (map[int][]place, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	b := breaker{literals: map[token.Pos]bool{}, grouped: map[token.Pos]bool{}, places: map[int][]place{}}
	ast.Inspect(file, b.note)
	tokens := fset.AddFile(path, -1, len(src))
	var s scanner.Scanner
	s.Init(tokens, src, nil, scanner.ScanComments)
	parsed := fset.File(file.Pos())
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return b.places, nil
		}
		at := fset.Position(pos)
		b.token(at, parsed.Pos(at.Offset), tok, text)
	}
}

func (b *breaker) note(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CompositeLit:
		b.literals[n.Lbrace] = true
	case *ast.Field:
		for i, name := range n.Names {
			b.grouped[name.Pos()] = i > 0
		}
	}
	return true
}

func (b *breaker) token(at token.Position, pos token.Pos, tok token.Token, text string) {
	if tok == token.SEMICOLON && text == "\n" {
		return
	}
	if at.Line != b.line {
		b.line, b.first = at.Line, len(b.open)
		b.list = tok == token.RETURN || tok == token.CASE || b.inCase == len(b.open)+1 || b.inList()
	} else if rank := b.rank(tok); rank >= 0 && !b.grouped[pos] {
		depth := ranks*(len(b.open)-b.first) + rank
		b.places[at.Line] = append(b.places[at.Line], place{at: at.Column - 1, depth: depth})
	}
	switch {
	case tok == token.CASE:
		b.inCase = len(b.open) + 1
	case tok == token.COLON && b.inCase == len(b.open)+1:
		b.inCase = 0
	case tok == token.ASSIGN || tok == token.DEFINE:
		b.list = b.list || len(b.open) == b.first
	case tok == token.LPAREN || tok == token.LBRACK:
		b.open = append(b.open, true)
	case tok == token.LBRACE:
		b.open = append(b.open, b.literals[pos])
	case tok == token.RPAREN || tok == token.RBRACK || tok == token.RBRACE:
		b.open = b.open[:max(len(b.open)-1, 0)]
		if len(b.open) < b.first {
			b.first = len(b.open)
			b.list = b.list || b.inList()
		}
	case strings.HasPrefix(text, "//") && !directive.MatchString(text):
		b.places[at.Line] = append(b.places[at.Line], place{at: at.Column - 1, comment: true})
	}
	b.last = [2]string{b.last[1], tok.String()}
}

// inList reports whether the innermost open bracket contains the items of a list.
func (b *breaker) inList() bool { return len(b.open) > 0 && b.open[len(b.open)-1] }

// ranks is the number of ranks. Ranks order the places within the same brackets.
const ranks = 5

// rank returns how bad it would be to divide the line before the token, or -1 if it is impossible.
func (b *breaker) rank(tok token.Token) int {
	inBrackets := len(b.open) > b.first
	switch last := b.last[1]; {
	case tok == token.COMMENT:
		return -1
	case last == "," && (b.list || inBrackets):
		return 0
	case last == "||":
		return 0
	case last == "{" && !b.inList() && tok != token.RBRACE:
		return 0
	case last == "&&":
		return 1
	case last == "." && b.last[0] == ")" && tok == token.IDENT && !inBrackets:
		return 0
	case last == "." && b.last[0] == ")" && tok == token.IDENT:
		return 3
	case (last == "+" || last == "|") && b.last[0] != "(" && b.last[0] != ",":
		return 4
	}
	return -1
}

// sameTokens reports whether two files have the same code. It ignores comments, white space and
// semicolons.
func sameTokens(a, b []byte) bool {
	return slices.Equal(tokensOf(a), tokensOf(b))
}

func tokensOf(src []byte) (list []string) {
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(src)), src, nil, 0)
	for {
		_, tok, text := s.Scan()
		if tok == token.EOF {
			return list
		}
		if tok != token.SEMICOLON {
			list = append(list, tok.String()+" "+text)
		}
	}
}
