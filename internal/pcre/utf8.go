package pcre

import "unicode/utf8"

// badUTF8 returns the reason why a pattern is not UTF-8, in the same words as PCRE2. It returns an
// empty string for a valid pattern.
func badUTF8(pattern string) string {
	for i := 0; i < len(pattern); {
		r, size := utf8.DecodeRuneInString(pattern[i:])
		if r == utf8.RuneError && size == 1 {
			return badSequence(pattern[i:])
		}
		i += size
	}
	return ""
}

// badSequence returns the reason why the sequence at the start of s is not valid.
func badSequence(s string) string {
	lead := s[0]
	rest := 0
	switch {
	case lead < 0xC0:
		return "isolated byte with 0x80 bit set"
	case lead >= 0xFE:
		return "illegal byte (0xfe or 0xff)"
	case lead >= 0xFC:
		rest = 5
	case lead >= 0xF8:
		rest = 4
	case lead >= 0xF0:
		rest = 3
	case lead >= 0xE0:
		rest = 2
	default:
		rest = 1
	}
	if missing := rest - (len(s) - 1); missing > 0 {
		if missing == 1 {
			return "1 byte missing at end"
		}
		return string(rune('0'+missing)) + " bytes missing at end"
	}
	for i := 1; i <= rest; i++ {
		if s[i]&0xC0 != 0x80 {
			return "byte " + string(rune('1'+i)) + " top bits not 0x80"
		}
	}
	return badValue(lead, s[1], rest)
}

// badValue returns the reason why a sequence of the right length is not valid.
func badValue(lead, next byte, rest int) string {
	switch {
	case rest == 5:
		return "6-byte character is not allowed (RFC 3629)"
	case rest == 4:
		return "5-byte character is not allowed (RFC 3629)"
	case lead == 0xED && next >= 0xA0:
		return "code points 0xd800-0xdfff are not defined"
	case lead > 0xF4 || lead == 0xF4 && next >= 0x90:
		return "code points greater than 0x10ffff are not defined"
	default:
		return "overlong " + string(rune('1'+rest)) + "-byte sequence"
	}
}
