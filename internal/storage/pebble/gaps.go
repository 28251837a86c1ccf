package pebble

import (
	"bytes"
	"math"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// surveyAfter is the number of internal keys that a seek must step over before the range it
	// crossed is surveyed.
	surveyAfter = 64
	// leapWork is the cost of a seek that leaps over a gap, as a number of internal keys.
	leapWork = 16
	// maxGaps is the largest number of gaps.
	maxGaps = 128
	// maxGapKey is the largest length in bytes of a key at which a gap begins or ends.
	maxGapKey = 1 << 10
	// maxDead is the largest number of dead keys that a gap remembers.
	maxDead = 8
	// maxSurveys is the number of ranges that may wait for their survey.
	maxSurveys = 16
	// settled is the number of surveys after which two gaps that touch are joined. The joined gap
	// has the number of the newer one. Views that are older than the latest surveys, but are read
	// only now, still find the older gaps unchanged.
	settled = 8
)

// gaps are ranges without keys, so that seeks can leap over them.
//
// A consumer of a queue deletes keys at one end of an index, while producers add keys at the other
// end. Deleted keys stay in Pebble until compactions have brought them to the last level, and as
// long as there are older snapshots. Without gaps each seek to the first key would step over all
// keys deleted in the last seconds, and a busy queue would become slow.
//
// A gap is valid for every view whose state number is at least the gap's number:
//
//   - A writer that puts a key removes it from the gaps before the commit becomes visible (cut),
//     between commits.enter and commits.leave.
//   - A seek that took much work requests a survey of the range it crossed. The survey registers
//     the range as a candidate. From then on puts are cut from the candidate, too. The survey waits
//     for the commits that may not know the candidate, and only then reads. So if the survey does
//     not see a key, and the key was not cut from the candidate, nobody puts it.
//   - The survey gives its gap a number that is greater than the number of every view taken before.
//
// A deletion never makes a gap invalid. Gaps are not stored on disk.
type gaps struct {
	// active is the number of gaps and candidates. Most stores have none, and need no lookup.
	active  atomic.Int32
	commits generations
	// look returns the first key in a range, or the end of the range, and then a state number that
	// no view has yet. The key is nil if reading failed.
	look func(keyRange) (to []byte, state uint64)

	mu sync.RWMutex
	// list is sorted. The gaps do not overlap.
	list []*gap
	// surveys counts the surveys.
	surveys uint64
	// hand is where the next search for a gap to evict begins.
	hand      int
	candidate *gap
	waiting   []keyRange
	surveying bool
}

// gap is a range [from, to) without keys, and never changes.
type gap struct {
	from, to []byte
	state    uint64
	// survey is the number of the survey that found the gap.
	survey uint64
	// dead are some keys in the gap, in order, that existed once or may have existed. A part of a
	// gap without dead keys is not worth keeping.
	dead [][]byte
	// used means that a seek leapt over the gap since the hand passed it.
	used atomic.Bool
}

// noState is the number of a candidate. It is not valid for any view.
const noState = math.MaxUint64

func (g *gap) has(key []byte) bool {
	return bytes.Compare(g.from, key) <= 0 && bytes.Compare(key, g.to) < 0
}

// part returns the part [from, to) of a gap, or nil if the part is not worth keeping.
func (g *gap) part(from, to []byte) *gap {
	p := &gap{from: from, to: to, state: g.state, survey: g.survey}
	for _, d := range g.dead {
		if p.has(d) {
			p.dead = append(p.dead, d)
		}
	}
	if len(p.dead) == 0 {
		return nil
	}
	p.used.Store(g.used.Load())
	return p
}

// after returns the index of the first gap that ends after key. The caller holds the lock.
func (g *gaps) after(key []byte) int {
	return sort.Search(len(g.list), func(i int) bool { return bytes.Compare(g.list[i].to, key) > 0 })
}

// ahead returns where a seek to the first key at or after key may begin, for a view with the given
// state, and the start of the next gap, or nil.
func (g *gaps) ahead(key []byte, state uint64) (start, limit []byte) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	for _, p := range g.list[g.after(key):] {
		switch {
		case p.state > state:
		case bytes.Compare(p.from, key) <= 0:
			p.used.Store(true)
			key = p.to
		default:
			return key, p.from
		}
	}
	return key, nil
}

// behind is ahead for a seek to the last key before key. limit is the end of the previous gap.
func (g *gaps) behind(key []byte, state uint64) (start, limit []byte) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	n := sort.Search(len(g.list), func(i int) bool { return bytes.Compare(g.list[i].from, key) >= 0 })
	for _, p := range slices.Backward(g.list[:n]) {
		switch {
		case p.state > state:
		case bytes.Compare(key, p.to) <= 0:
			p.used.Store(true)
			key = p.from
		default:
			return key, p.to
		}
	}
	return key, nil
}

// cut removes a key from its gap, because a commit puts it.
func (g *gaps) cut(key []byte) {
	g.mu.RLock()
	i := g.after(key)
	hit := i < len(g.list) && g.list[i].has(key) || g.candidate != nil && g.candidate.has(key)
	g.mu.RUnlock()
	if !hit {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if c := g.candidate; c != nil && c.has(key) {
		g.candidate = &gap{from: c.from, to: bytes.Clone(key), state: noState}
	}
	if i = g.after(key); i == len(g.list) || !g.list[i].has(key) {
		return
	}
	p, at := g.list[i], bytes.Clone(key)
	var parts []*gap
	for _, part := range []*gap{p.part(p.from, at), p.part(append(at, 0), p.to)} {
		if part != nil {
			parts = append(parts, part)
		}
	}
	g.list = slices.Replace(g.list, i, i+1, parts...)
	g.count()
	g.evict()
}

// count updates active. The caller holds the lock.
func (g *gaps) count() {
	n := len(g.list)
	if g.candidate != nil {
		n++
	}
	g.active.Store(int32(n))
}

// evict makes room by removing gaps that were not used lately. The caller holds the lock.
func (g *gaps) evict() {
	for len(g.list) > maxGaps {
		g.hand = (g.hand + 1) % len(g.list)
		if !g.list[g.hand].used.Swap(false) {
			g.list = slices.Delete(g.list, g.hand, g.hand+1)
		}
	}
}

// request requests the survey of a range, unless the whole range is a gap. It reports whether the
// caller must start the surveys.
func (g *gaps) request(from, to []byte) bool {
	if bytes.Compare(from, to) >= 0 || len(from) > maxGapKey || len(to) > maxGapKey {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == maxSurveys || g.covers(from, to) {
		return false
	}
	for _, r := range g.waiting {
		if bytes.Equal(r.start, from) || bytes.Equal(r.end, to) {
			return false
		}
	}
	g.waiting = append(g.waiting, keyRange{bytes.Clone(from), bytes.Clone(to)})
	begin := !g.surveying
	g.surveying = true
	return begin
}

// covers reports whether a range is covered by one gap, or by several that touch. The caller holds
// the lock.
func (g *gaps) covers(from, to []byte) bool {
	for _, p := range g.list[g.after(from):] {
		if bytes.Compare(p.from, from) > 0 {
			return false
		}
		if from = p.to; bytes.Compare(to, from) <= 0 {
			return true
		}
	}
	return false
}

// begin makes the next waiting range the candidate, and waits until all commits in progress know
// it. It reports false if no range waits.
func (g *gaps) begin() (keyRange, bool) {
	g.mu.Lock()
	if len(g.waiting) == 0 {
		g.surveying, g.waiting = false, nil
		g.mu.Unlock()
		return keyRange{}, false
	}
	r := g.waiting[0]
	g.waiting = g.waiting[1:]
	g.candidate = &gap{from: r.start, to: r.end, state: noState}
	g.count()
	g.mu.Unlock()
	g.commits.change()
	return r, true
}

// end ends a survey that found no key before to. The remaining parts of the candidate become gaps.
// A nil to means that the survey failed.
func (g *gaps) end(to []byte, state uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	defer g.count()
	g.surveys++
	c := g.candidate
	g.candidate = nil
	if c == nil || to == nil {
		return
	}
	if bytes.Compare(c.to, to) < 0 {
		to = c.to
	}
	// The gaps from first to last overlap or touch the candidate.
	first := sort.Search(len(g.list), func(i int) bool { return bytes.Compare(g.list[i].to, c.from) >= 0 })
	last, at := first, c.from
	var parts []*gap
	add := func(upTo []byte) {
		if bytes.Compare(at, upTo) < 0 {
			p := &gap{from: at, to: upTo, state: state, survey: g.surveys, dead: [][]byte{at}}
			p.used.Store(true)
			parts = append(parts, p)
		}
	}
	for ; last < len(g.list) && bytes.Compare(g.list[last].from, to) <= 0; last++ {
		p := g.list[last]
		add(p.from)
		parts = append(parts, p)
		at = p.to
	}
	add(to)
	g.list = slices.Replace(g.list, first, last, g.join(parts)...)
	g.evict()
}

// join joins gaps that touch, unless one of them is new.
func (g *gaps) join(parts []*gap) []*gap {
	var joined []*gap
	for _, p := range parts {
		n := len(joined) - 1
		if n < 0 || !bytes.Equal(joined[n].to, p.from) || max(joined[n].survey, p.survey)+settled > g.surveys {
			joined = append(joined, p)
			continue
		}
		q := joined[n]
		both := &gap{from: q.from, to: p.to, state: max(q.state, p.state), survey: max(q.survey, p.survey)}
		both.used.Store(q.used.Load() || p.used.Load())
		both.bury(slices.Concat(q.dead, p.dead))
		joined[n] = both
	}
	return joined
}

// bury chooses the dead keys that a gap remembers from the dead keys of its parts.
func (g *gap) bury(dead [][]byte) {
	for len(dead) > maxDead {
		kept := dead[:0]
		for i, d := range dead {
			if i%2 == 0 || i == len(dead)-1 {
				kept = append(kept, d)
			}
		}
		dead = kept
	}
	g.dead = dead
}

// survey requests the survey of a range that may be a gap.
func (g *gaps) survey(from, to []byte) {
	if g.request(from, to) {
		go g.surveyAll()
	}
}

// surveyAll surveys ranges until none is left.
func (g *gaps) surveyAll() {
	for {
		r, ok := g.begin()
		if !ok {
			return
		}
		g.end(g.look(r))
	}
}

// generations counts commits by the generation in which they began, so that a caller can wait for
// all commits that began earlier.
type generations struct {
	current atomic.Uint32
	running [2]atomic.Int64
}

// enter registers a commit. leave ends it.
func (g *generations) enter() uint32 {
	for {
		i := g.current.Load()
		g.running[i].Add(1)
		if g.current.Load() == i {
			return i
		}
		g.running[i].Add(-1)
	}
}

func (g *generations) leave(i uint32) { g.running[i].Add(-1) }

// change begins a generation and waits until the commits of the previous one have ended. Only one
// goroutine may call it at a time.
func (g *generations) change() {
	i := g.current.Load()
	g.current.Store(1 - i)
	for rest := 20 * time.Microsecond; g.running[i].Load() > 0; rest = min(2*rest, time.Millisecond) {
		pause(rest)
	}
}
