package text

import (
	"bytes"
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// Search is the argument of a $text predicate.
type Search struct {
	Text                              string
	CaseSensitive, DiacriticSensitive bool
}

// Query is a parsed search.
type Query struct {
	// Bounds are the terms for the index scan, sorted. Every matching document has at least one of
	// them in the index.
	Bounds []string
	// Terms and Negated are the terms in the spelling of the search, sorted. A document must have
	// one of Terms and none of Negated.
	Terms, Negated []string
	// Phrases must occur in a document literally. NegatedPhrases must not.
	Phrases, NegatedPhrases []string

	spelling spelling
}

// ParseQuery parses a search. A document must have one of its words, and all phrases in quotation
// marks. It must not have a word or phrase with a hyphen before it. ParseQuery fails if the
// operation ends.
func ParseQuery(s Search, l *Language, r *interrupt.Running) (*Query, error) {
	q := &Query{}
	if s.CaseSensitive {
		q.spelling |= caseSensitive
	}
	if s.DiacriticSensitive {
		q.spelling |= diacriticSensitive
	}
	p := queryParser{query: q, rest: s.Text, afterSpace: true}
	p.parse()
	var err error
	if q.Bounds, err = sortedTerms(l, p.positive, 0, r); err != nil {
		return nil, err
	}
	q.Terms = q.Bounds
	if q.spelling != 0 {
		if q.Terms, err = sortedTerms(l, p.positive, q.spelling, r); err != nil {
			return nil, err
		}
	}
	q.Negated, err = sortedTerms(l, p.negative, q.spelling, r)
	return q, err
}

func sortedTerms(l *Language, words []byte, sp spelling, r *interrupt.Running) ([]string, error) {
	var out []string
	var meter interrupt.Meter
	for word, rest := l.nextWord(words); len(word) > 0; word, rest = l.nextWord(rest) {
		if err := meter.Did(wordWork+len(word), r); err != nil {
			return nil, err
		}
		if !l.isStopWord(word) {
			out = append(out, l.term(word, sp))
		}
	}
	if err := interrupt.Sort(out, interrupt.Step, strings.Compare, &meter, r); err != nil {
		return nil, err
	}
	return slices.Compact(out), nil
}

// queryParser parses a search from beginning to end.
type queryParser struct {
	query *Query
	rest  string
	// afterSpace means that rest is at the start or follows white space.
	afterSpace bool
	// negation lasts from a hyphen after white space to the next white space outside of a phrase.
	negation bool
	inPhrase bool
	phrase   string // starts after its quotation mark

	positive, negative []byte // words, separated by spaces
}

// querySpaces end a negation. Other white space belongs to a word until the words are split.
const querySpaces = " \n\v\f\r"

func (p *queryParser) parse() {
	p.skipSpaces()
	p.afterSpace = true
	for p.rest != "" {
		before := p.afterSpace
		switch p.rest[0] {
		case '-':
			p.rest = p.rest[1:]
			if !p.inPhrase && before {
				p.negation = true
			}
		case '"':
			p.quote(before)
		default:
			end := strings.IndexAny(p.rest, querySpaces+`-"`)
			if end < 0 {
				end = len(p.rest)
			}
			p.word(p.rest[:end], before)
			p.rest = p.rest[end:]
		}
		p.skipSpaces()
	}
}

func (p *queryParser) skipSpaces() {
	trimmed := strings.TrimLeft(p.rest, querySpaces)
	p.afterSpace = len(trimmed) < len(p.rest)
	p.rest = trimmed
}

// quote begins or ends a phrase. A phrase without an end counts only as words.
func (p *queryParser) quote(afterSpace bool) {
	quoted := p.rest
	p.rest = p.rest[1:]
	if !p.inPhrase {
		p.inPhrase, p.phrase = true, p.rest
		p.negation = p.negation && !afterSpace
		return
	}
	p.inPhrase = false
	phrase := p.phrase[:len(p.phrase)-len(quoted)]
	if p.negation {
		p.query.NegatedPhrases = append(p.query.NegatedPhrases, phrase)
	} else {
		p.query.Phrases = append(p.query.Phrases, phrase)
	}
}

// word adds a word to the wanted or unwanted words. The words of a phrase are wanted, too. The
// words of a negated phrase are ignored.
func (p *queryParser) word(w string, afterSpace bool) {
	if p.inPhrase && p.negation {
		return
	}
	p.negation = p.negation && !afterSpace
	to := &p.positive
	if p.negation {
		to = &p.negative
	}
	*to = append(append(*to, w...), ' ')
}

// IsExact reports whether every document that has one of Bounds in the index matches.
func (q *Query) IsExact() bool {
	return q.spelling == 0 && len(q.Negated) == 0 && len(q.Phrases) == 0 && len(q.NegatedPhrases) == 0
}

// Match reports whether a document of an index is a match.
func (q *Query) Match(s *Spec, doc bsonx.Doc) bool {
	return q.isIndexed(s, doc) && q.MatchRest(s, doc)
}

// isIndexed reports whether the index has one of Bounds for a document.
func (q *Query) isIndexed(s *Spec, doc bsonx.Doc) bool {
	found := false
	// A document that names an unknown language cannot be in the index.
	_ = s.walk(doc, func(l *Language, str []byte, _ float64) bool {
		for word, rest := l.nextWord(str); len(word) > 0 && !found; word, rest = l.nextWord(rest) {
			if !l.isStopWord(word) {
				_, found = slices.BinarySearch(q.Bounds, l.term(word, 0))
			}
		}
		return !found
	})
	return found
}

// Score returns the score of a document for the search. ok is false if the document has none of the
// terms.
func (q *Query) Score(s *Spec, doc bsonx.Doc) (sum float64, ok bool) {
	var sc Scorer
	if sc.Score(s, doc) != nil {
		return 0, false // the document names an unknown language, so it is in no index
	}
	for i := range sc.Len() {
		term, score := sc.Term(i)
		if _, found := slices.BinarySearch(q.Bounds, term); found {
			sum, ok = sum+score, true
		}
	}
	return sum, ok
}

// MatchRest is Match for a document that has one of Bounds in the index.
func (q *Query) MatchRest(s *Spec, doc bsonx.Doc) bool {
	if q.spelling != 0 && !q.hasTerm(s, doc, q.Terms) || q.hasTerm(s, doc, q.Negated) {
		return false
	}
	for _, p := range q.Phrases {
		if !q.hasPhrase(s, doc, p) {
			return false
		}
	}
	for _, p := range q.NegatedPhrases {
		if q.hasPhrase(s, doc, p) {
			return false
		}
	}
	return true
}

func (q *Query) hasTerm(s *Spec, doc bsonx.Doc, terms []string) bool {
	found := false
	if len(terms) == 0 {
		return found
	}
	_ = s.walk(doc, func(l *Language, str []byte, _ float64) bool {
		found = l.hasTerm(str, q.spelling, terms)
		return !found
	})
	return found
}

// hasPhrase reports whether a string contains a phrase literally, even in the middle of words.
func (q *Query) hasPhrase(s *Spec, doc bsonx.Doc, phrase string) bool {
	found := false
	var room, want []byte
	var wanted *Language
	_ = s.walk(doc, func(l *Language, str []byte, _ float64) bool {
		if wanted != l {
			wanted, want = l, q.folded(want[:0], l, []byte(phrase))
		}
		room = q.folded(room[:0], l, str)
		found = bytes.Contains(room, want)
		return !found
	})
	return found
}

// folded appends a string in the form in which the query compares strings.
func (q *Query) folded(dst []byte, l *Language, s []byte) []byte {
	if q.spelling&caseSensitive == 0 {
		s = l.appendLower(nil, s)
	}
	if q.spelling&diacriticSensitive == 0 && !l.ascii {
		return appendPlain(dst, string(s))
	}
	return append(dst, s...)
}
