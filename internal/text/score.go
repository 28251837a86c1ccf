package text

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/memory"
)

// maxWords bounds the words that a Scorer remembers from one document to the next.
const maxWords = 1 << 16

// Scorer finds the terms of documents and their scores. It remembers what term a word has: most
// words of a text are among the few that all texts have. The zero value is ready for use.
type Scorer struct {
	words map[*Language]map[string]int32 // to the position of the term, or stopWord
	ids   map[string]int32
	terms []termState
	count int // of words

	// The terms of the document and of the string at hand.
	inDoc, inString []int32

	running *interrupt.Running
	meter   interrupt.Meter
	// bytes is what the document's new words take, held how much of it the operation has counted.
	bytes, held int
}

// wordWork is the work of finding a word, without its bytes.
const wordWork = 2 * interrupt.Step

// Serve names the operation that documents are scored for from now on: Score fails where it ends.
// nil is none.
func (sc *Scorer) Serve(r *interrupt.Running) { sc.running = r }

const stopWord = -1

// termState is a term and what has been found of it in the document.
type termState struct {
	term  string
	score float64 // over all strings; 0 for a term that is not in the document
	// In the string at hand: how often, and the sum of 1, 1/2, 1/4 and so on, of which next is the
	// following one.
	count      int
	freq, next float64
}

// Score finds the terms of a document, which Terms lists. It fails where the document names a
// language that there is not.
func (sc *Scorer) Score(s *Spec, doc bsonx.Doc) error {
	sc.reset()
	var ended error
	err := s.walk(doc, func(l *Language, str []byte, weight float64) bool {
		ended = sc.add(l, str, weight)
		return ended == nil
	})
	if ended != nil {
		*sc = Scorer{} // the string at hand is half counted
		return ended
	}
	return err
}

// Len returns how many terms the document has.
func (sc *Scorer) Len() int { return len(sc.inDoc) }

// Term returns the i-th term of the document and its score.
func (sc *Scorer) Term(i int) (string, float64) {
	t := &sc.terms[sc.inDoc[i]]
	return t.term, t.score
}

// ScoreOf returns the score of a term, 0 where the document does not have it.
func (sc *Scorer) ScoreOf(term string) float64 {
	id, ok := sc.ids[term]
	if !ok {
		return 0
	}
	return sc.terms[id].score
}

func (sc *Scorer) reset() {
	for _, id := range sc.inDoc {
		sc.terms[id].score = 0
	}
	sc.inDoc = sc.inDoc[:0]
	sc.bytes, sc.held = 0, 0
	if sc.words == nil || sc.count > maxWords {
		*sc = Scorer{words: make(map[*Language]map[string]int32), ids: make(map[string]int32), inDoc: sc.inDoc,
			inString: sc.inString, running: sc.running}
	}
}

// add scores the words of a string: a term that stands in it n times counts 1 + 1/2 + … +
// 1/2^(n-1), by up to the half less the smaller its share in the string's words, and a tenth more
// where it is the whole string.
func (sc *Scorer) add(l *Language, str []byte, weight float64) error {
	words := sc.words[l]
	if words == nil {
		words = make(map[string]int32)
		sc.words[l] = words
	}
	total := 0
	for word, rest := l.nextWord(str); len(word) > 0; word, rest = l.nextWord(rest) {
		if err := sc.meter.Did(wordWork+len(word), sc.running); err != nil {
			return err
		}
		id, ok := words[string(word)]
		if !ok {
			if err := sc.hold(len(word)); err != nil {
				return err
			}
			id = sc.learn(l, word)
			words[string(word)] = id
			sc.count++
		}
		if id == stopWord {
			continue
		}
		total++
		t := &sc.terms[id]
		if t.count == 0 {
			t.freq, t.next = 0, 1
			sc.inString = append(sc.inString, id)
		}
		t.count++
		t.freq += t.next
		t.next /= 2
	}
	for _, id := range sc.inString {
		t := &sc.terms[id]
		coefficient := 0.5*float64(t.count)/float64(total) + 0.5
		adjustment := 1.0
		if isSame(str, t.term) {
			adjustment += 0.1
		}
		if t.score == 0 {
			sc.inDoc = append(sc.inDoc, id)
		}
		t.score += weight * t.freq * coefficient * adjustment
		t.count = 0
	}
	sc.inString = sc.inString[:0]
	return nil
}

const (
	// wordBytes is about what a new word takes beside its bytes: entries of two maps and of two
	// lists, which double their memory.
	wordBytes = 320
	// heldBytes is in what steps the memory of words is held.
	heldBytes = 1 << 20
)

// hold holds the memory of a new word of n bytes, which is there once as it stands and once as a
// term.
func (sc *Scorer) hold(n int) error {
	if sc.bytes += wordBytes + 2*n; sc.bytes <= sc.held {
		return nil
	}
	sc.held = sc.bytes + heldBytes
	return sc.counted(sc.held)
}

// Hold holds the memory of n bytes that are made of the document's terms, beside the terms. It
// fails with ExceededMemoryLimit.
func (sc *Scorer) Hold(n int) error { return sc.counted(sc.bytes + n) }

// counted counts n bytes for the operation, which takes twice what it is told.
func (sc *Scorer) counted(n int) error {
	return memory.Of(sc.running.Context()).Value(int64(n) / 2)
}

// IsLarge reports whether the scorer takes more memory than it is worth to keep.
func (sc *Scorer) IsLarge() bool { return sc.count > maxWords }

// learn returns the position of a word's term.
func (sc *Scorer) learn(l *Language, word []byte) int32 {
	if l.isStopWord(word) {
		return stopWord
	}
	term := l.term(word, 0)
	id, ok := sc.ids[term]
	if !ok {
		id = int32(len(sc.terms))
		sc.terms = append(sc.terms, termState{term: term})
		sc.ids[term] = id
	}
	return id
}

// isSame reports whether a string is a term, but for the case of ASCII letters.
func isSame(str []byte, term string) bool {
	if len(str) != len(term) {
		return false
	}
	for i, c := range str {
		if asciiLower(c) != asciiLower(term[i]) {
			return false
		}
	}
	return true
}

func asciiLower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}
