package pcre

import (
	"regexp"
	"strings"
)

// startVerbs contains the settings that may be at the start of a pattern. A setting with the value
// true changes nothing here.
var startVerbs = map[string]bool{
	"UTF8": true, "UTF": true, "LF": true, "NO_AUTO_POSSESS": true, "NO_START_OPT": true, "NO_JIT": true,
	"NO_DOTSTAR_ANCHOR": true, "BSR_UNICODE": true, "BSR_ANYCRLF": true,
	"UCP": false, "CR": false, "CRLF": false, "ANY": false, "NUL": false, "ANYCRLF": false, "NOTEMPTY": false,
	"NOTEMPTY_ATSTART": false,
}

var (
	startVerb  = regexp.MustCompile(`^\(\*([A-Z_0-9]+)\)`)
	startLimit = regexp.MustCompile(`^\(\*LIMIT_(?:DEPTH|HEAP|MATCH|RECURSION)=[0-9]+\)`)
	verbName   = regexp.MustCompile(`^[0-9A-Za-z_]*`)
)

// startVerbs parses the settings at the start of the pattern.
func (t *translator) startVerbs() {
	for t.in.follows("(*") {
		rest := t.in.rest()
		limit := startLimit.FindString(rest)
		verb := startVerb.FindStringSubmatch(rest)
		switch {
		case limit != "":
			t.found.lacks("a limit")
			t.in.pos += len(limit)
			continue
		case verb == nil:
			return
		}
		harmless, ok := startVerbs[verb[1]]
		if !ok {
			return
		}
		if !harmless {
			t.found.lacks(verb[0])
		}
		if strings.HasPrefix(verb[1], "BSR") {
			t.bsrAnyCRLF = verb[1] == "BSR_ANYCRLF"
		}
		t.in.pos += len(verb[0])
		t.out.isLiteral = false
	}
}

// verb parses (*VERB), (*VERB:argument) and (*assertion:…).
func (t *translator) verb(expectsAssertion bool) error {
	rest := t.in.src[t.in.pos+1:]
	if rest == "" || rest[0] == ')' {
		return errUnrepeatable
	}
	name := verbName.FindString(rest)
	t.in.pos += 1 + len(name)
	rest = rest[len(name):]
	if name != "" && name[0] >= 'a' && name[0] <= 'z' {
		return t.alphaAssertion(name, rest, expectsAssertion)
	}
	end := strings.IndexByte(rest, ')')
	if end < 0 || end > 0 && rest[0] != ':' {
		return errUnknownVerb
	}
	t.in.pos += end + 1
	return t.runVerb(name, strings.TrimPrefix(rest[:end], ":"))
}

// runVerb translates a verb.
func (t *translator) runVerb(name, argument string) error {
	switch name {
	case "", "MARK":
		if argument == "" {
			return invalid("(*MARK) must have an argument")
		}
	case "F", "FAIL":
		t.out.emitPosition(`[^\x{0}-\x{10FFFF}]`, never)
	case "ACCEPT", "COMMIT", "PRUNE", "SKIP", "THEN":
		t.found.lacks("(*" + name + ")")
		t.out.emitPosition("", "")
		t.out.hasAtom = name == "ACCEPT"
	default:
		return errUnknownVerb
	}
	if len(argument) > 255 {
		return invalid("name is too long in (*MARK), (*PRUNE), (*SKIP), or (*THEN)")
	}
	t.out.hasAtom = t.out.hasAtom && name == "ACCEPT"
	return nil
}

var alphaAssertions = map[string]string{
	"pla": "=", "positive_lookahead": "=", "nla": "!", "negative_lookahead": "!",
	"plb": "<=", "positive_lookbehind": "<=", "nlb": "<!", "negative_lookbehind": "<!",
	"napla": "*", "non_atomic_positive_lookahead": "*", "naplb": "<*", "non_atomic_positive_lookbehind": "<*",
	"atomic": ">", "sr": "", "script_run": "", "asr": ">", "atomic_script_run": ">",
}

// alphaAssertion opens a group whose kind is written as a word.
func (t *translator) alphaAssertion(name, rest string, expected bool) error {
	symbol, ok := alphaAssertions[name]
	if !ok || !strings.HasPrefix(rest, ":") {
		return invalid("(*alpha_assertion) not recognized")
	}
	isAssertion := strings.ContainsAny(symbol, "=!")
	if expected && !isAssertion {
		return errNoAssertion
	}
	t.in.pos++
	if strings.HasSuffix(name, "sr") || strings.HasSuffix(name, "script_run") {
		t.found.lacks("a script run")
	}
	if symbol == "" {
		t.push(plainGroup, "(?:", "(?:")
		return nil
	}
	t.openSymbol(symbol, expected)
	return nil
}

// callout skips (?C…), which has no effect.
func (t *translator) callout(expects int) error {
	t.in.pos++
	rest := t.in.rest()
	if rest == "" {
		return errUnclosed
	}
	n := digits(rest, 10, len(rest))
	switch {
	case atoi(rest[:n]) > 255:
		return invalid("number after (?C is greater than 255")
	case n == 0 && rest[0] != ')':
		var err error
		if n, err = calloutString(rest); err != nil {
			return err
		}
	}
	t.in.pos += n
	if !t.in.follows(")") {
		return invalid("closing parenthesis for (?C expected")
	}
	t.in.pos++
	t.out.size += sizeCallout
	t.out.hasAtom = false
	t.expectsAssertion = max(expects-1, 0)
	return nil
}

// calloutString returns the length of a string, including its delimiters. A delimiter inside the
// string is written twice.
func calloutString(s string) (int, error) {
	delimiter := s[0]
	if strings.IndexByte("`'\"^%#${", delimiter) < 0 {
		return 0, invalid("unrecognized string delimiter follows (?C")
	}
	if delimiter == '{' {
		delimiter = '}'
	}
	for i := 1; i < len(s); i++ {
		if s[i] != delimiter {
			continue
		}
		if i+1 == len(s) || s[i+1] != delimiter {
			return i + 1, nil
		}
		i++
	}
	return 0, invalid("missing terminating delimiter for callout with string argument")
}
