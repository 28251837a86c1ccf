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
	// surveyAfter is how much work a seek may be before what it crossed is surveyed, in internal
	// keys that Pebble stepped over.
	surveyAfter = 64
	// leapWork is what one more seek counts, behind a gap.
	leapWork = 16
	// maxGaps and maxGapKey bound the memory; maxDead is how many dead keys a gap remembers.
	maxGaps   = 128
	maxGapKey = 1 << 10
	maxDead   = 8
	// maxSurveys is how many ranges wait for their survey.
	maxSurveys = 16
	// settled is after how many surveys two gaps that touch become one, whose number is that of the
	// newer: views that were taken before the latest surveys and are read only now find the older
	// gaps as they were.
	settled = 8
)

// gaps are ranges that are known to have no keys, for seeks to leap over. Who takes from a queue
// deletes at one end of an index what others add at the other. Deleted keys stay in Pebble until
// compactions have brought them to the last level, and as long as there are older snapshots, so
// that each seek to the first key would step over all that was taken in the last seconds, and a
// queue would become slower the more is taken from it.
//
// A gap is true for every view whose number of the engine's state is not below the gap's, as long
// as the gap is there:
//
//   - Who puts a key takes it out of the gaps before the commit becomes visible (cut), between
//     commits.enter and commits.leave.
//   - A seek that was much work asks for a survey of what it crossed. The survey registers the
//     range as a candidate, from which puts are cut as well, waits for the commits that may not
//     have seen it, and only then reads. So a key that it does not see, and that was not cut from
//     the candidate, is put by nobody.
//   - The survey gives its gap a number that no view has that was taken before the survey's own.
//
// A deletion only makes gaps truer. Nothing of this is on disk.
type gaps struct {
	// active is how many gaps and candidates there are: most stores have none, and nothing to look
	// up.
	active  atomic.Int32
	commits generations
	// look returns the first key in a range, or the range's end, and then a number of the engine's
	// state that no view has yet. The key is nil where it failed.
	look func(keyRange) (to []byte, state uint64)

	mu sync.RWMutex
	// list is in order; the gaps do not overlap.
	list []*gap
	// surveys counts the surveys.
	surveys uint64
	// hand is where room is looked for.
	hand      int
	candidate *gap
	waiting   []keyRange
	surveying bool
}

// gap is a range [from, to) without keys, and never changes.
type gap struct {
	from, to []byte
	state    uint64
	// survey is the number of the survey that found it.
	survey uint64
	// dead are a few keys in it, in order, that were there once, or may have been. A part without
	// any is not worth keeping.
	dead [][]byte
	// used says that a seek leapt over it since the hand came by.
	used atomic.Bool
}

// noState is the number of a candidate, which is true for no view.
const noState = math.MaxUint64

func (g *gap) has(key []byte) bool {
	return bytes.Compare(g.from, key) <= 0 && bytes.Compare(key, g.to) < 0
}

// part returns the part [from, to) of a gap, or nil where it is not worth keeping.
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

// after returns the place of the first gap that ends behind key. It needs the lock.
func (g *gaps) after(key []byte) int {
	return sort.Search(len(g.list), func(i int) bool { return bytes.Compare(g.list[i].to, key) > 0 })
}

// ahead returns where a seek to the first key from key on may begin, in the view of a state, and
// the start of the next gap, or nil.
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

// behind is ahead for a seek to the last key before key; limit is the end of the gap before.
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

// cut takes a key out of its gap, as somebody puts it.
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

// cutRange takes all gaps away that have something of the keys from first to last.
func (g *gaps) cutRange(first, last []byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.list = slices.DeleteFunc(g.list, func(p *gap) bool {
		return bytes.Compare(p.from, last) <= 0 && bytes.Compare(first, p.to) < 0
	})
	g.candidate = nil
	g.count()
}

// count brings active up to date. It needs the lock.
func (g *gaps) count() {
	n := len(g.list)
	if g.candidate != nil {
		n++
	}
	g.active.Store(int32(n))
}

// evict makes room, at the cost of gaps that were not used lately. It needs the lock.
func (g *gaps) evict() {
	for len(g.list) > maxGaps {
		g.hand = (g.hand + 1) % len(g.list)
		if !g.list[g.hand].used.Swap(false) {
			g.list = slices.Delete(g.list, g.hand, g.hand+1)
		}
	}
}

// request asks for the survey of a range, unless all of it is a gap, and reports whether somebody
// must begin with the surveys.
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

// covers reports whether a range is one gap, or several that touch. It needs the lock.
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

// begin makes the next range that waits the candidate, and waits until all commits that go on have
// seen it. It reports false where nothing is left to do.
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

// end ends a survey that found nothing before to: what is left of the candidate becomes gaps, where
// there are none. A nil to says that the survey failed.
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
	// Those from first to last overlap or touch.
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

// join makes one of gaps that touch, unless one of them is new.
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

// bury chooses the dead keys that a gap remembers, of those of its parts.
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

// survey asks for the survey of a range that may be a gap.
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

// generations count commits by the generation in which they began, so that one can wait for all
// that began before now.
type generations struct {
	current atomic.Uint32
	running [2]atomic.Int64
}

// enter begins a commit, leave ends it.
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

// change begins a generation and waits for the end of the one before. Only one may call it at a
// time.
func (g *generations) change() {
	i := g.current.Load()
	g.current.Store(1 - i)
	for pause := 20 * time.Microsecond; g.running[i].Load() > 0; pause = min(2*pause, time.Millisecond) {
		time.Sleep(pause)
	}
}
