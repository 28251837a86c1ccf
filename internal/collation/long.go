package collation

import (
	"bytes"
	"cmp"
	"slices"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/memory"
)

const (
	// longText is the size in bytes from which a text, or a pair of texts to compare, is processed
	// in pieces.
	longText = 8 << 10
	// pieceBytes is the approximate size of a piece, in bytes.
	pieceBytes = 2 << 10
	// maxPiece is the length at which a piece is cut if it has no natural end before, for example
	// if it consists of marks.
	maxPiece = 16 << 10
	// textWork is the work that is counted for each byte of text; see package interrupt.
	textWork = 16
	// blockBytes is the size of the blocks from which a long key is assembled.
	blockBytes = 64 << 10
	// heldBytes is the step in bytes in which memory for a long key is reserved.
	heldBytes = 1 << 20
)

// level is a level of a key.
type level uint8

const (
	levelPrimary level = iota
	levelSecondary
	levelCase
	levelTertiary
	levelQuaternary
	levelIdentical
)

// levels returns the levels of a key, in order.
func (o *options) levels() []level {
	out := []level{levelPrimary}
	add := func(l level, ok bool) {
		if ok {
			out = append(out, l)
		}
	}
	add(levelSecondary, o.strength >= secondary)
	add(levelCase, o.caseLevel)
	add(levelTertiary, o.strength >= tertiary)
	add(levelQuaternary, o.strength >= quaternary && o.alternate == "shifted")
	add(levelIdentical, o.strength >= identical)
	return out
}

// piece is a part of a text whose weights do not depend on the surrounding text, except for after:
// see shift.
type piece struct {
	text  []byte
	after bool
	ascii bool
}

// weighPiece computes the weights of the first piece of s and stores them in w. It updates after
// for the next piece.
func (by *rules) weighPiece(s []byte, after *bool, w *worker) piece {
	p := piece{after: *after}
	if !by.aligned {
		p.text = s[:by.cut(s)]
		if p.ascii = by.ascii != nil && isASCII(p.text); !p.ascii {
			w.weigh(p.text)
		}
		return p
	}
	w.elements = w.elements[:0]
	n, size := 0, 0
	for n < len(s) && n < pieceBytes {
		w.elements, size = by.appendFirst(w.elements, s[n:], w)
		n += size
	}
	p.text = s[:n]
	if by.opts.alternate == "shifted" {
		w.elements = by.shift(w.elements, after)
	}
	return p
}

// appendLevel appends one level of the piece that weighPiece has processed last.
func (by *rules) appendLevel(dst []byte, p piece, l level, w *worker) []byte {
	switch {
	case l == levelIdentical:
		return norm.NFD.Append(dst, p.text...)
	case by.aligned:
		return by.appendElementLevel(dst, l, w)
	case l == levelPrimary && p.ascii:
		return by.appendASCIIPrimaries(dst, p.text)
	case l == levelPrimary:
		for _, weight := range w.levels.primaries {
			dst = appendPrimary(dst, weight)
		}
		return dst
	case l == levelSecondary && p.ascii:
		return by.appendASCIISecondaries(dst, p.text)
	case l == levelSecondary:
		return by.appendSecondaries(dst, w.levels.secondaries)
	case p.ascii:
		return by.appendASCIITertiaries(dst, p.text)
	default:
		return append(dst, w.levels.tertiaries...)
	}
}

func (by *rules) appendElementLevel(dst []byte, l level, w *worker) []byte {
	switch l {
	case levelPrimary:
		return appendPrimaries(dst, w.elements)
	case levelSecondary:
		return by.appendElementSecondaries(dst, w.elements, w)
	case levelCase:
		return by.appendCases(dst, w.elements)
	case levelTertiary:
		return by.appendTertiaries(dst, w.elements)
	default:
		return appendQuaternaries(dst, w.elements)
	}
}

// cut returns the end of the first piece of s.
func (by *rules) cut(s []byte) int {
	if len(s) <= pieceBytes {
		return len(s)
	}
	end := min(len(s), maxPiece)
	for i := pieceBytes; i < end; i++ {
		if between(s, i, by.breaks) {
			return i
		}
	}
	if end == len(s) {
		return end
	}
	for i := end; i > pieceBytes; i-- {
		if between(s, i, breaksRun) {
			return i
		}
	}
	return end
}

// between reports whether a text may be cut at s[i]. There must be valid characters on both sides,
// for which ends returns true.
func between(s []byte, i int, ends func(before, r rune) bool) bool {
	if !utf8.RuneStart(s[i]) {
		return false
	}
	r, size := utf8.DecodeRune(s[i:])
	before, sizeBefore := utf8.DecodeLastRune(s[:i])
	return (r != utf8.RuneError || size > 1) && (before != utf8.RuneError || sizeBefore > 1) && ends(before, r)
}

// breaks reports whether a text may be cut between before and r: the weights on each side do not
// depend on the other side.
func (by *rules) breaks(before, r rune) bool {
	switch {
	case by.ascii == nil && (r == 'h' || r == 'H'): // the second letter of "ch"
		return false
	case r >= '\uFF65' && r <= '\uFF9F': // halfwidth kana, which may be marks
		return false
	}
	return !continues(before, r) && alone(r) && (alone(before) || unicode.Is(unicode.M, before))
}

// breaksRun is a weaker form of breaks, for a text in which breaks is false for thousands of
// characters.
func breaksRun(before, r rune) bool {
	return !unicode.Is(unicode.M, r) && !unicode.Is(unicode.Logical_Order_Exception, before)
}

// isBackwards reports whether the pieces of a level are in reverse order, as in French.
func (by *rules) isBackwards(l level) bool { return by.opts.backwards && l == levelSecondary }

// keyReader generates a key piece by piece and level by level, without memory for the whole key.
type keyReader struct {
	by    *rules
	w     *worker
	text  []byte
	level int
	rest  []byte // the text that was not read yet on the current level
	after bool
	chunk []byte
	// marks contains the starts of the pieces, for a level in reverse order.
	marks []mark
}

// mark is the position of a piece.
type mark struct {
	at    int
	after bool
}

// next returns the next bytes of the key, which are valid until the next call. It returns nil at
// the end of the key or after an interrupt.
func (k *keyReader) next(watch *interrupt.Watch) []byte {
	for {
		l := k.by.levels[k.level]
		text, ok := k.ahead(l)
		if !ok {
			if k.level+1 == len(k.by.levels) {
				return nil
			}
			k.level, k.rest, k.after = k.level+1, k.text, false
			k.chunk = append(k.chunk[:0], separator)
			return k.chunk
		}
		p := k.by.weighPiece(text, &k.after, k.w)
		if watch.Stopped(textWork * len(p.text)) {
			return nil
		}
		k.pass(l, p)
		if k.chunk = k.by.appendLevel(k.chunk[:0], p, l, k.w); len(k.chunk) > 0 {
			return k.chunk
		}
	}
}

// ahead returns the text that begins with the next piece. It returns false at the end of the level.
func (k *keyReader) ahead(l level) ([]byte, bool) {
	if !k.by.isBackwards(l) {
		return k.rest, len(k.rest) > 0
	}
	n := len(k.marks) - 1
	if n < 0 {
		return nil, false
	}
	m := k.marks[n]
	k.after = m.after
	return k.rest[m.at:], true
}

// pass moves to the next piece.
func (k *keyReader) pass(l level, p piece) {
	if k.by.isBackwards(l) {
		n := len(k.marks) - 1
		k.rest, k.marks = k.rest[:k.marks[n].at], k.marks[:n]
		return
	}
	if k.by.opts.backwards && l == levelPrimary {
		k.marks = append(k.marks, mark{len(k.text) - len(k.rest), p.after})
	}
	k.rest = k.rest[len(p.text):]
}

// skipSame skips the pieces that are the same in both readers. Both readers must be at the
// beginning of a piece.
func skipSame(a, b *keyReader, watch *interrupt.Watch) {
	const same = maxPiece + utf8.UTFMax // the number of bytes that determine the end of a piece
	by := a.by
	if by.aligned || by.opts.backwards || a.level != b.level {
		return
	}
	for len(a.rest) > same && len(b.rest) > same && bytes.Equal(a.rest[:same], b.rest[:same]) {
		n := by.cut(a.rest)
		if watch.Stopped(textWork * n) {
			return
		}
		a.rest, b.rest = a.rest[n:], b.rest[n:]
	}
}

// compareLong compares long texts piece by piece. After an interrupt the result is not valid.
func (by *rules) compareLong(a, b []byte, watch *interrupt.Watch) int {
	v, w := by.worker(), by.worker()
	defer by.pool.Put(v)
	defer by.pool.Put(w)
	ra, rb := keyReader{by: by, w: v, text: a, rest: a}, keyReader{by: by, w: w, text: b, rest: b}
	var x, y []byte
	for {
		if len(x) == 0 && len(y) == 0 {
			skipSame(&ra, &rb, watch)
		}
		if len(x) == 0 {
			x = ra.next(watch)
		}
		if len(y) == 0 {
			y = rb.next(watch)
		}
		if watch.Ended() != nil {
			return 0
		}
		n := min(len(x), len(y))
		if n == 0 {
			return cmp.Compare(len(x), len(y))
		}
		if order := bytes.Compare(x[:n], y[:n]); order != 0 {
			return order
		}
		x, y = x[n:], y[n:]
	}
}

// blocks contains the bytes of one level of a long key.
type blocks [][]byte

// add appends bytes. With own, the bytes become a separate block, which a level in reverse order
// needs.
func (b *blocks) add(bytes []byte, own bool) {
	if n := len(*b); own || n == 0 || len((*b)[n-1])+len(bytes) > cap((*b)[n-1]) {
		size := blockBytes
		if own {
			size = 0
		}
		*b = append(*b, make([]byte, 0, max(size, len(bytes))))
	}
	last := &(*b)[len(*b)-1]
	*last = append(*last, bytes...)
}

// appendLong appends the key of a long text.
func (by *rules) appendLong(dst, s []byte, r *interrupt.Running) ([]byte, error) {
	w := by.worker()
	defer by.pool.Put(w)
	watch := interrupt.Watch{Running: r}
	op := memory.Of(r.Context())
	all := make([]blocks, len(by.levels))
	after, total, held := false, len(by.levels), 0
	for rest := s; len(rest) > 0; {
		p := by.weighPiece(rest, &after, w)
		rest = rest[len(p.text):]
		if watch.Stopped(textWork * len(p.text)) {
			return dst, watch.Ended()
		}
		for i, l := range by.levels {
			w.a = by.appendLevel(w.a[:0], p, l, w)
			if total += len(w.a); total > held {
				held = total + heldBytes
				if err := holdKey(op, held); err != nil {
					return dst, err
				}
			}
			all[i].add(w.a, by.isBackwards(l))
		}
	}
	dst = slices.Grow(dst, total+1)
	for i, l := range by.levels {
		if i > 0 {
			dst = append(dst, separator)
		}
		if by.isBackwards(l) {
			slices.Reverse(all[i])
		}
		for _, block := range all[i] {
			dst = append(dst, block...)
		}
	}
	return dst, r.Err()
}

// holdKey reserves the memory of a key of n bytes while it is built and used: in blocks, as a
// whole, and in the value made from it.
func holdKey(op *memory.Operation, n int) error { return op.Value(int64(n) * 3 / 2) }
