package pcre

import (
	"fmt"
	"strings"
)

// open reads what follows an opening parenthesis.
func (t *translator) open() error {
	if len(t.groups) >= maxGroups {
		return invalid("parentheses are too deeply nested")
	}
	rest := t.src[t.pos:]
	switch {
	case strings.HasPrefix(rest, "*"):
		return notImplemented("a (*VERB)")
	case !strings.HasPrefix(rest, "?"):
		if t.fl.noCapture {
			t.push("(?:", "(?:")
		} else {
			t.capture()
		}
		return nil
	}
	t.pos++
	rest = rest[1:]
	if _, n, ok := groupName(rest); ok {
		t.pos += n
		t.capture()
		return nil
	}
	for _, g := range []struct {
		prefix string
		linear string // empty where only the backtracking engine has it
	}{{":", "(?:"}, {"=", ""}, {"!", ""}, {"<=", ""}, {"<!", ""}, {">", ""}} {
		if strings.HasPrefix(rest, g.prefix) {
			t.pos += len(g.prefix)
			t.linearOK = t.linearOK && g.linear != ""
			t.push(g.linear, "(?"+g.prefix)
			return nil
		}
	}
	return t.openSpecial(rest)
}

func (t *translator) openSpecial(rest string) error {
	switch {
	case rest == "":
		return invalid("missing closing parenthesis")
	case rest[0] == '#':
		end := strings.IndexByte(rest, ')')
		if end < 0 {
			return invalid("missing ) after (?# comment")
		}
		t.pos += end + 1
		return nil
	case strings.HasPrefix(rest, "P="):
		end := strings.IndexByte(rest, ')')
		if end < 0 {
			return invalid("missing closing parenthesis")
		}
		t.pos += end + 1
		return t.namedReference(rest[2:end])
	case rest[0] == '(':
		return t.openConditional(rest)
	case rest[0] == '|':
		return notImplemented("a branch reset group")
	case rest[0] == 'R' || rest[0] == '&' || rest[0] == '+' || strings.HasPrefix(rest, "P>") ||
		rest[0] >= '0' && rest[0] <= '9' || rest[0] == '-' && len(rest) > 1 && rest[1] >= '0' && rest[1] <= '9':
		return notImplemented("recursion")
	case rest[0] == 'C':
		return notImplemented("a callout")
	}
	return t.openFlags(rest)
}

// openConditional reads (?(n)yes|no) and (?(name)yes|no).
func (t *translator) openConditional(rest string) error {
	end := strings.IndexByte(rest, ')')
	if end < 0 {
		return invalid("missing closing parenthesis for condition")
	}
	name := strings.Trim(rest[1:end], "<>'")
	if name == "DEFINE" || strings.HasPrefix(name, "R") || strings.HasPrefix(name, "?") {
		return notImplemented("this condition")
	}
	n, ok := t.names[name]
	if !ok {
		if _, err := fmt.Sscanf(name, "%d", &n); err != nil || n < 1 || n > t.total {
			return invalid("reference to non-existent subpattern")
		}
	}
	t.pos += end + 1
	t.linearOK = false
	t.push("", fmt.Sprintf("(?(%d)", n))
	return nil
}

// openFlags reads (?flags) and (?flags:…).
func (t *translator) openFlags(rest string) error {
	fl, on := t.fl, true
	for i, c := range []byte(rest) {
		switch c {
		case ')':
			t.pos += i + 1
			t.setFlags(fl)
			return nil
		case ':':
			t.pos += i + 1
			prefix := "(?" + caseFlag(fl) + ":"
			t.push(prefix, prefix)
			t.fl = fl
			return nil
		case '^':
			fl = flags{}
		case '-':
			on = false
		case 'i':
			fl.ignoreCase = on
		case 'm':
			fl.multiline = on
		case 's':
			fl.dotAll = on
		case 'x':
			fl.extended = on
		case 'U':
			fl.ungreedy = on
		case 'n':
			fl.noCapture = on
		case 'J':
		default:
			return invalid("unrecognized character after (? or (?-")
		}
	}
	return invalid("missing closing parenthesis")
}

func caseFlag(fl flags) string {
	if fl.ignoreCase {
		return "i"
	}
	return "-i"
}

// setFlags changes the flags for the rest of the group; the engines are told of the case only.
func (t *translator) setFlags(fl flags) {
	if fl.ignoreCase != t.fl.ignoreCase {
		text := "(?" + caseFlag(fl) + ")"
		t.linear.WriteString(text)
		t.backtracking.WriteString(text)
	}
	t.fl, t.hasAtom = fl, false
}

// capture opens a capturing group. Its number is explicit for regexp2, which counts named groups last.
func (t *translator) capture() {
	t.captures++
	defer func() { t.size += sizeCapture }()
	t.push("(", fmt.Sprintf("(?<%d>", t.captures))
}

func (t *translator) push(linear, backtracking string) {
	t.groups = append(t.groups, group{saved: t.fl, linear: t.linear.Len(), backtracking: t.backtracking.Len(), size: t.size})
	t.size += sizeBranch
	t.linear.WriteString(linear)
	t.backtracking.WriteString(backtracking)
	t.hasAtom = false
}

// close reads a closing parenthesis; the group becomes the atom that a quantifier repeats.
func (t *translator) close() error {
	if len(t.groups) == 0 {
		return invalid("unmatched closing parenthesis")
	}
	g := t.groups[len(t.groups)-1]
	t.groups = t.groups[:len(t.groups)-1]
	t.linear.WriteString(")")
	t.backtracking.WriteString(")")
	t.fl = g.saved
	t.size += sizeBranch
	t.atomSize, t.atomIsGroup = g.size, true
	t.atomLinear, t.atomBacktracking, t.hasAtom = g.linear, g.backtracking, true
	return nil
}
