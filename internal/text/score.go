package text

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/memory"
)

// maxWords is the number of words that a Scorer remembers from one document to the next.
const maxWords = 1 << 16

// Scorer computes the terms of documents and their scores. It remembers the term of each word,
// because most words of a text are frequent in all texts. The zero value is ready to use.
type Scorer struct {
	words map[*Language]map[string]int32 // for each word, the index of its term in terms, or stopWord
	ids   map[string]int32
	terms []termState
	count int // number of words in words

	// inDoc and inString are indexes into terms: the terms found in the document so far, and the
	// terms found in the current string.
	inDoc, inString []int32

	running *interrupt.Running
	meter   interrupt.Meter
	// bytes is the memory of the document's new words. held is the part that the operation has
	// already counted.
	bytes, held int
}

// wordWork is the work that is counted for each word, in addition to its bytes; see package
// interrupt.
const wordWork = 2 * interrupt.Step

// Serve sets the operation for which documents are scored from now on. Score fails if the operation
// ends. r may be nil.
func (sc *Scorer) Serve(r *interrupt.Running) { sc.running = r }

const stopWord = -1

// termState is a term and its state in the current document.
type termState struct {
	term  string
	score float64 // over all strings; 0 if the document does not have the term
	// In the current string: how often the term occurs, and the sum 1 + 1/2 + 1/4 + …, of which
	// next is the next summand.
	count      int
	freq, next float64
}

// Score finds the terms of a document and their scores. Afterwards, Len returns their number and
// Term returns each of them. Score fails if the document names an unknown language, if the
// operation ends, or if the memory limit is exceeded.
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

// Len returns the number of terms of the document.
func (sc *Scorer) Len() int { return len(sc.inDoc) }

// Term returns the i-th term of the document and its score.
func (sc *Scorer) Term(i int) (string, float64) {
	t := &sc.terms[sc.inDoc[i]]
	return t.term, t.score
}

// ScoreOf returns the score of a term, or 0 if the document does not have the term.
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
		*sc = Scorer{
			words: make(map[*Language]map[string]int32), ids: make(map[string]int32), inDoc: sc.inDoc,
			inString: sc.inString, running: sc.running,
		}
	}
}

// add scores the words of a string. A term that occurs n times counts 1 + 1/2 + … + 1/2^(n-1). This
// is reduced by up to one half, the more the smaller the term's share of the words is. A term that
// is the whole string counts a tenth more.
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
	// wordBytes is the approximate memory of a new word in addition to its bytes: entries in two
	// maps and in two lists, which double when they grow.
	wordBytes = 320
	// heldBytes is the step in which the memory of words is reserved.
	heldBytes = 1 << 20
)

// hold reserves the memory of a new word of n bytes, which is stored as a word and as a term.
func (sc *Scorer) hold(n int) error {
	if sc.bytes += wordBytes + 2*n; sc.bytes <= sc.held {
		return nil
	}
	sc.held = sc.bytes + heldBytes
	return sc.counted(sc.held)
}

// Hold reserves n bytes for data that the caller makes from the document's terms. It fails with
// ExceededMemoryLimit.
func (sc *Scorer) Hold(n int) error { return sc.counted(sc.bytes + n) }

// counted counts n bytes for the operation, which reserves twice the number.
func (sc *Scorer) counted(n int) error {
	return memory.Of(sc.running.Context()).Value(int64(n) / 2)
}

// IsLarge reports whether the scorer takes too much memory to be kept.
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

// isSame reports whether a string equals a term, ignoring the case of ASCII letters.
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
