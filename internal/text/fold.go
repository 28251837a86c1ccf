package text

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/unicode/rangetable"
)

// delimiters are the characters between words. MongoDB defines them by Unicode properties.
var delimiters = rangetable.Merge(unicode.Dash, unicode.Hyphen, unicode.Pattern_Syntax, unicode.Quotation_Mark,
	unicode.Terminal_Punctuation, unicode.White_Space)

// asciiDelimiters are the ASCII characters that separate words. Most strings have no others.
var asciiDelimiters = func() (out [utf8.RuneSelf]bool) {
	for r := range out {
		out[r] = unicode.Is(delimiters, rune(r))
	}
	return out
}()

// lower returns the lower case of a character by Unicode's simple case folding, so that all forms
// of a letter have the same result.
func (l *Language) lower(r rune) rune {
	switch {
	case r < utf8.RuneSelf:
		if 'A' <= r && r <= 'Z' {
			if l.dotless && r == 'I' {
				return 'ı'
			}
			r += 'a' - 'A'
		}
		return r
	case l.ascii:
		return r
	case r == 'İ':
		if l.dotless {
			return 'i'
		}
		return r // folding would give two characters
	case r == 'ı':
		return r
	case unicode.Is(unicode.Cherokee, r):
		return unicode.ToUpper(r) // the only script that folds to upper case
	default:
		return unicode.ToLower(unicode.ToUpper(r))
	}
}

func (l *Language) appendLower(dst, s []byte) []byte {
	for len(s) > 0 {
		if c := s[0]; c < utf8.RuneSelf && (c < 'A' || c > 'Z') {
			dst, s = append(dst, c), s[1:]
			continue
		}
		r, n := utf8.DecodeRune(s)
		dst = utf8.AppendRune(dst, l.lower(r))
		s = s[n:]
	}
	return dst
}

// appendPlain appends s without diacritics. It drops combining diacritics, and replaces letters
// with diacritics by the plain letter.
func appendPlain(dst []byte, s string) []byte {
	for _, r := range s {
		if r < utf8.RuneSelf {
			if r != '^' && r != '`' {
				dst = append(dst, byte(r))
			}
			continue
		}
		if unicode.Is(unicode.Diacritic, r) {
			continue
		}
		dst = utf8.AppendRune(dst, plain(r))
	}
	return dst
}

// plain returns a letter without its diacritics.
func plain(r rune) rune {
	var room [utf8.UTFMax]byte
	parts := norm.NFD.PropertiesString(string(utf8.AppendRune(room[:0], r))).Decomposition()
	if parts == nil {
		return r
	}
	left := make([]byte, 0, len(parts))
	for len(parts) > 0 {
		part, n := utf8.DecodeRune(parts)
		if !unicode.Is(unicode.Diacritic, part) {
			left = append(left, parts[:n]...)
		}
		parts = parts[n:]
	}
	left = norm.NFC.Bytes(left)
	if base, n := utf8.DecodeRune(left); n == len(left) && n > 0 {
		return base
	}
	return r
}
