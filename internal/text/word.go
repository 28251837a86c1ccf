package text

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
)

// spelling says which properties of the original word a term keeps.
type spelling uint8

const (
	caseSensitive spelling = 1 << iota
	diacriticSensitive
)

// isDelimiter reports whether a character separates words.
func (l *Language) isDelimiter(r rune) bool {
	if r < utf8.RuneSelf {
		return asciiDelimiters[r] && (r != '\'' || !l.apostrophe)
	}
	return !l.ascii && unicode.Is(delimiters, r)
}

// nextWord returns the first word of s and the text after it. It returns an empty word if s has no
// word.
func (l *Language) nextWord(s []byte) (word, rest []byte) {
	start := -1
	for i := 0; i < len(s); {
		r, n := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(s[i:])
		}
		switch delimiter := l.isDelimiter(r); {
		case !delimiter && start < 0:
			start = i
		case delimiter && start >= 0:
			return s[start:i], s[i:]
		}
		i += n
	}
	if start < 0 {
		return nil, nil
	}
	return s[start:], nil
}

// isStopWord reports whether a word is a stop word, in any case.
func (l *Language) isStopWord(word []byte) bool {
	var room [64]byte
	if len(l.stops) == 0 || len(word) > len(room) {
		return false
	}
	return l.stops[string(l.appendLower(room[:0], word))]
}

// maxStemmed is the length up to which words are stemmed. Stemmers copy a word for each letter that
// they change, so a very long word could keep them busy for hours. Such a long text is not a word
// of a language anyway.
const maxStemmed = 1024

// term returns the term of a word.
func (l *Language) term(word []byte, sp spelling) string {
	var room [64]byte
	stem := string(word)
	if sp&caseSensitive == 0 {
		stem = string(l.appendLower(room[:0], word))
	}
	if l.stem != nil && len(stem) <= maxStemmed {
		env := snowballstem.NewEnv(stem)
		l.stem(env)
		stem = env.Current()
	}
	if sp&diacriticSensitive == 0 && !l.ascii {
		stem = string(appendPlain(room[:0], stem))
	}
	return stem
}

// hasTerm reports whether a string has a word of one of the terms, which are sorted. Stop words
// count, because a stop word of the search's language may be an ordinary word in the document's
// language.
func (l *Language) hasTerm(s []byte, sp spelling, terms []string) bool {
	for word, rest := l.nextWord(s); len(word) > 0; word, rest = l.nextWord(rest) {
		if _, found := slices.BinarySearch(terms, l.term(word, sp)); found {
			return true
		}
	}
	return false
}
