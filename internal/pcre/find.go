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

// Span is a part of a text in bytes, [Start, End). Start is -1 if a group took no part in the
// match.
type Span struct{ Start, End int }

// Match has the positions of a match: first of the whole match, then of each group.
type Match []Span

// findAllTimeout limits the time for all matches of one text by the backtracking engine together.
const findAllTimeout = 5 * time.Second

// lookedAtMatches is the number of matches after which FindAll checks the operation. The caller may
// need a microsecond for a match.
const lookedAtMatches = 1024

// Find returns the first match, or nil.
func (r *Regexp) Find(text []byte, running *interrupt.Running) (Match, error) {
	var first Match
	err := r.each(text, running, func(m Match) (bool, error) {
		first = m
		return false, nil
	})
	return first, err
}

// FindAll calls f for all matches that do not overlap, from left to right, until f returns an
// error. After an empty match the search continues one character later. An empty match at the end
// of the text is found only if the text is empty.
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

// after returns where the search continues.
func after(text []byte, m Match) int {
	if m[0].Start != m[0].End {
		return m[0].End
	}
	_, size := utf8.DecodeRune(text[m[0].Start:])
	return m[0].Start + max(size, 1)
}

// eachLinear finds matches with the linear engine. If the pattern can match an empty text, it
// continues with the other engine after the first match. The reason is that Go's engine cannot
// start in the middle of a text, and omits empty matches that touch the previous match.
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

// eachLong finds the matches one by one. Each search begins after the previous match, and includes
// the character before it for boundaries.
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

// eachBacktracking finds the matches from a byte position on.
func (r *Regexp) eachBacktracking(text []byte, start int, running *interrupt.Running,
	f func(Match) (bool, error),
) error {
	now := clock.System{}.Now
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

// The approximate memory of the backtracking engine per byte of a text: for its characters, and for
// the places to which a long match may go back.
const (
	runeBytes  = 5
	stackBytes = 16
)

// runesOf returns a text as runes for the backtracking engine. It fails if the operation may not
// take more memory.
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

// count counts n bytes in the memory of the operation.
func count(n int, running *interrupt.Running) error {
	if n < 2*memory.LargeValue {
		return nil
	}
	return memory.Of(running.Context()).Value(int64(n) / 2) // Value counts twice the number
}

// runeOffsets converts positions in characters to positions in bytes. It is fast if they ascend.
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

// resetBy returns the position to which \K moves the beginning of a match, or -1.
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
