package engine

import (
	"math/big"
	"reflect"
	"regexp"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/parser"
)

// checkSource returns an error for source code that would make the parser or the compiler recurse
// too deeply. It estimates the nesting without parsing: it counts brackets, and the operators and
// words since the last end of a statement or element on each level, also in strings.
func checkSource(source string) error {
	if len(source) > maxSource {
		return failure("SyntaxError: a function is longer than %d bytes", maxSource)
	}
	var open []int // the value of chain before each open bracket
	depth, chain, word := 0, 0, false
	for i := range len(source) {
		inWord := false
		switch c := source[i]; c {
		case '(', '[', '{':
			depth += chain + 1
			open = append(open, chain)
			chain = 0
		case ')', ']', '}':
			if n := len(open); n > 0 {
				chain = open[n-1] + 1
				depth -= open[n-1] + 1
				open = open[:n-1]
			}
		case ';', ',':
			chain = 0
		case ' ', '\t', '\r', '\n':
		case '!', '~', '-', '+', '*', '/', '%', '=', '?', ':', '>', '<', '&', '|', '^', '.', '`':
			chain++
		default:
			if inWord = true; !word {
				chain++
			}
		}
		word = inWord
		if depth+chain > maxNesting {
			return failure("SyntaxError: too much nesting")
		}
	}
	return checkLiterals(source)
}

var bigLiteral = regexp.MustCompile(`[0-9a-fA-F]n\b`)

// checkLiterals returns an error for big integer literals, because operators on big integers take
// unlimited time.
func checkLiterals(source string) error {
	if !bigLiteral.MatchString(source) {
		return nil
	}
	// The source may be a program, an expression or the body of a function. The compiler reports
	// syntax errors.
	for _, form := range []string{source, "(" + source + "\n)", "(function() {" + source + "\n})"} {
		program, err := parser.ParseFile(nil, "", form, 0)
		if err == nil && hasBigInt(reflect.ValueOf(program.Body)) {
			return failure("SyntaxError: big integers are not supported")
		}
	}
	return nil
}

// hasBigInt reports whether a syntax tree contains a big integer literal. The recursion is bounded,
// because the nesting of the tree is limited.
func hasBigInt(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return false
		}
		if n, ok := v.Interface().(*ast.NumberLiteral); ok {
			_, big := n.Value.(*big.Int)
			return big
		}
		return hasBigInt(v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			if hasBigInt(v.Index(i)) {
				return true
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanInterface() && v.Type().Field(i).Name != "File" && hasBigInt(f) {
				return true
			}
		}
	default:
	}
	return false
}
