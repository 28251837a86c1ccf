package pcre

import "regexp/syntax"

// mayBeEmpty reports whether a pattern of the linear engine can match an empty text.
func mayBeEmpty(pattern string) bool {
	re, err := syntax.Parse(pattern, syntax.Perl)
	return err != nil || emptyAt(re)
}

func emptyAt(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune) == 0
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL, syntax.OpNoMatch:
		return false
	case syntax.OpCapture, syntax.OpPlus:
		return emptyAt(re.Sub[0])
	case syntax.OpRepeat:
		return re.Min == 0 || emptyAt(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if !emptyAt(sub) {
				return false
			}
		}
		return true
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			if emptyAt(sub) {
				return true
			}
		}
		return false
	default: // star, question mark, anchors
		return true
	}
}
