package pcre

import (
	"bytes"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2"

	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/memory"
)

// Span is the part [Start, End) of a text, in bytes. Start is -1 if a group took no part in the
// match.
type Span struct{ Start, End int }

// Match contains the span of the whole match, and then the span of each group.
type Match []Span

// findAllTimeout limits the total time that the backtracking engine may take for all matches in one
// text.
const findAllTimeout = 5 * time.Second

// lookedAtMatches is the number of matches that FindAll finds before it checks whether the
// operation was interrupted. The caller may take a microsecond for each match.
const lookedAtMatches = 1024

// Find returns the first match, or nil if nothing matches.
func (r *Regexp) Find(text []byte, running *interrupt.Running) (Match, error) {
	var first Match
	err := r.each(text, running, func(m Match) (bool, error) {
		first = m
		return false, nil
	})
	return first, err
}

// FindAll calls f for each match from left to right, until f returns an error. Matches do not
// overlap. After an empty match, the search continues one character later. FindAll ignores an empty
// match at the end of a text that is not empty.
func (r *Regexp) FindAll(text []byte, running *interrupt.Running, f func(Match) error) error {
	matches := 0
	return r.each(text, running, func(m Match) (bool, error) {
		if matches++; matches%lookedAtMatches == 0 {
			if err := running.Err(); err != nil {
				return false, err
			}
		}
		return true, f(m)
	})
}

func (r *Regexp) each(text []byte, running *interrupt.Running, f func(Match) (more bool, err error)) error {
	if err := look(text, running); err != nil {
		return err
	}
	switch {
	case r.isLiteral:
		return r.eachLiteral(text, f)
	case !r.runsLinear(text) || r.positionsMatter:
		return r.eachBacktracking(text, 0, running, f)
	case r.isLong(text):
		return r.eachLong(text, running, f)
	}
	return r.eachLinear(text, running, f)
}

func (r *Regexp) eachLiteral(text []byte, f func(Match) (bool, error)) error {
	for start := 0; start == 0 || start < len(text); {
		i := bytes.Index(text[start:], r.literal)
		if i < 0 || r.anchored && start+i > 0 {
			return nil
		}
		m := Match{{start + i, start + i + len(r.literal)}}
		if more, err := f(m); err != nil || !more {
			return err
		}
		start = after(text, m)
	}
	return nil
}

// after returns the position where the search continues after a match.
func after(text []byte, m Match) int {
	if m[0].Start != m[0].End {
		return m[0].End
	}
	_, size := utf8.DecodeRune(text[m[0].Start:])
	return m[0].Start + max(size, 1)
}

// eachLinear finds matches with the linear engine. If the pattern can match an empty text, it
// continues with the other engine after the first match. Go's engine cannot start in the middle of
// a text, and it omits an empty match that touches the previous match.
func (r *Regexp) eachLinear(text []byte, running *interrupt.Running, f func(Match) (bool, error)) error {
	loc := r.linear.FindSubmatchIndex(text)
	if loc == nil {
		return nil
	}
	m := spans(loc)
	more, err := f(m)
	if err != nil || !more || after(text, m) >= len(text) {
		return err
	}
	if r.mayBeEmpty() {
		return r.eachBacktracking(text, after(text, m), running, f)
	}
	for _, loc := range r.linear.FindAllSubmatchIndex(text, -1)[1:] {
		if more, err := f(spans(loc)); err != nil || !more {
			return err
		}
	}
	return nil
}

// eachLong finds the matches one by one. Each search starts after the previous match. Its text
// includes the character before that position, because word boundaries depend on it.
func (r *Regexp) eachLong(text []byte, running *interrupt.Running, f func(Match) (bool, error)) error {
	reader := &runeReader{text: text, running: running}
	loc, shift := r.linear.FindReaderSubmatchIndex(reader), 0
	for {
		switch {
		case reader.err != nil:
			return reader.err
		case loc == nil:
			return nil
		}
		m := spans(loc)
		for i := range m {
			if m[i].Start >= 0 {
				m[i] = Span{m[i].Start + shift, m[i].End + shift}
			}
		}
		more, err := f(m)
		next := after(text, m)
		if err != nil || !more || next >= len(text) {
			return err
		}
		_, size := utf8.DecodeLastRune(text[:next])
		shift = next - size
		*reader = runeReader{text: text[shift:], running: running, count: reader.count}
		if loc = r.later().FindReaderSubmatchIndex(reader); loc != nil {
			loc = loc[2:]
		}
	}
}

func spans(loc []int) Match {
	m := make(Match, len(loc)/2)
	for i := range m {
		m[i] = Span{loc[2*i], loc[2*i+1]}
	}
	return m
}

// eachBacktracking finds the matches that begin at a byte position or after it.
func (r *Regexp) eachBacktracking(text []byte, start int, running *interrupt.Running,
	f func(Match) (bool, error),
) error {
	now := clock.Computer.Now
	deadline := now().Add(findAllTimeout)
	runes, err := runesOf(text, running)
	if err != nil {
		return err
	}
	at := runeOffsets{text: text}
	for pos := utf8.RuneCount(text[:start]); (pos == 0 || pos < len(runes)) && len(runes)-pos >= r.least; {
		found, err := backtrack(r, len(text), running,
			func(re *regexp2.Regexp) (*regexp2.Match, error) { return re.FindRunesMatchStartingAt(runes, pos) })
		switch {
		case err != nil:
			return err
		case now().After(deadline):
			return matchFailed()
		case found == nil:
			return nil
		}
		m := at.match(found, r.captures)
		begin := found.Index
		if reset := r.resetBy(found); reset >= 0 {
			begin = reset
			m[0].Start = at.byteOf(begin)
			at.byteOf(found.Index + found.Length)
		}
		if more, err := f(m); err != nil || !more {
			return err
		}
		if err := running.Err(); err != nil {
			return err
		}
		pos = max(found.Index+found.Length, begin+1)
	}
	return nil
}

// The backtracking engine uses approximately this much memory per byte of the text. runeBytes is
// for its characters, and stackBytes is for the positions to which a long match may go back.
const (
	runeBytes  = 5
	stackBytes = 16
)

// runesOf converts a text to runes for the backtracking engine. It fails if the operation would use
// too much memory.
func runesOf(text []byte, running *interrupt.Running) ([]rune, error) {
	if err := count(len(text)*runeBytes, running); err != nil {
		return nil, err
	}
	runes := make([]rune, 0, utf8.RuneCount(text))
	reader := runeReader{text: text, running: running}
	for {
		c, _, err := reader.ReadRune()
		if err != nil {
			return runes, reader.err
		}
		runes = append(runes, c)
	}
}

// count adds n bytes to the memory that the operation uses.
func count(n int, running *interrupt.Running) error {
	if n < 2*memory.LargeValue {
		return nil
	}
	return memory.Of(running.Context()).Value(int64(n) / 2) // Value counts each byte twice
}

// runeOffsets converts positions in characters to positions in bytes. It is fast if the positions
// are in ascending order.
type runeOffsets struct {
	text       []byte
	runes, pos int
}

func (o *runeOffsets) byteOf(runes int) int {
	if runes < o.runes {
		o.runes, o.pos = 0, 0
	}
	for ; o.runes < runes; o.runes++ {
		_, size := utf8.DecodeRune(o.text[o.pos:])
		o.pos += size
	}
	return o.pos
}

// resetBy returns the position to which \K moves the beginning of a match, or -1 if it does not
// move.
func (r *Regexp) resetBy(found *regexp2.Match) int {
	if !r.resets {
		return -1
	}
	if group := found.GroupByNumber(resetNumber); group != nil && len(group.Captures) > 0 {
		return group.Index
	}
	return -1
}

func (o *runeOffsets) match(found *regexp2.Match, captures int) Match {
	groups := found.Groups()[:captures+1]
	m := make(Match, len(groups))
	for i := range groups {
		g := &groups[i]
		if len(g.Captures) == 0 {
			m[i] = Span{-1, -1}
			continue
		}
		start := o.byteOf(g.Index)
		m[i] = Span{start, o.byteOf(g.Index + g.Length)}
	}
	// The next match starts after this one, so the next conversion begins there.
	o.byteOf(found.Index + found.Length)
	return m
}
