package exec

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/storage"
)

// Scorer appends to dst the scores that the terms of a search have in a document, in the order of the search's inputs.
type Scorer func(dst []float64, doc bsonx.Doc) ([]float64, error)

const (
	// bestBlock is how many entries of a term are read before those of another.
	bestBlock = 32
	// bestGrowth is how many times as many rows are looked for when those that were found were not enough.
	bestGrowth = 4
	// scoredOf bounds the documents that are read for their scores: one of so many entries, each of which is about as much cheaper.
	scoredOf = 64
)

// BestTerms is for how many terms a TextOr can find the best records without reading all entries. The scores of each are kept, so
// that they are added in one order.
const BestTerms = 8

// bestFirst finds the records with the highest scores before it has read all entries. The entries of each term come with the highest
// score first, so that those read last bound the unread: a record cannot have more than what is known of it and the bounds of the
// other terms. When as many records as are wanted have more for certain than all others can have, they are the best. What some
// of them have of the terms whose entries were not found is then computed from their documents.
type bestFirst struct {
	n     *TextOr
	want  int
	terms int
	parts []float64 // of each record the scores of all terms; 0 where none was found
	state []bestState
	heads []float64 // of each term a bound of the unread scores
	ended []bool

	read, checked int     // entries; how many when it was looked last
	unseen        float64 // what a record could have of which nothing was known then
	queue         []int32
	threshold     float64 // all records with so much have been put into the queue
	least         []float64
	scores        []float64
}

// bestState is what is known of a record.
type bestState uint8

const (
	scoreKnown bestState = 1 << iota // all parts are
	wasQueued
)

func newBestFirst(n *TextOr, want int) *bestFirst {
	terms := len(n.inputs)
	return &bestFirst{n: n, want: want, terms: terms, heads: make([]float64, terms), ended: make([]bool, terms)}
}

// next takes the best record that is left; nil at the end.
func (b *bestFirst) next(ctx context.Context) (*scoreEntry, error) {
	for len(b.queue) == 0 {
		if b.threshold < 0 {
			return nil, nil
		}
		if b.checked > 0 {
			b.want *= bestGrowth
		}
		if err := b.fill(ctx); err != nil {
			return nil, err
		}
	}
	e := &b.n.scores.entries[b.queue[0]]
	b.queue = b.queue[1:]
	return e, nil
}

// isBehind reports whether all records that are left have a lower score.
func (b *bestFirst) isBehind(score float64) bool {
	if len(b.queue) > 0 {
		return b.n.scores.entries[b.queue[0]].score < score
	}
	return b.checked > 0 && b.threshold <= score
}

// fill reads entries until records can be put into the queue, or all are read.
func (b *bestFirst) fill(ctx context.Context) error {
	for i := range b.heads {
		if b.checked == 0 {
			if err := b.readBlock(ctx, i); err != nil {
				return err
			}
		}
	}
	for {
		if b.isDue() {
			b.checked, b.unseen = b.read, b.sumHeads()
			if ok, err := b.settle(ctx); ok || err != nil {
				return err
			}
		}
		highest := -1
		for i, head := range b.heads {
			if !b.ended[i] && (highest < 0 || head > b.heads[highest]) {
				highest = i
			}
		}
		if highest < 0 {
			return b.settleAll()
		}
		if err := b.readBlock(ctx, highest); err != nil {
			return err
		}
	}
}

// readBlock reads some entries of a term.
func (b *bestFirst) readBlock(ctx context.Context, term int) error {
	n := b.n
	n.current = term
	for range bestBlock {
		key, err := n.nextKey(ctx)
		if err != nil {
			return err
		}
		if key == nil {
			b.ended[term], b.heads[term] = true, 0
			return nil
		}
		b.read++
		record, score, err := n.split(key)
		if err != nil {
			return err
		}
		at := n.scores.find(record)
		if at == len(b.state) {
			b.state = append(b.state, 0)
			b.parts = slices.Grow(b.parts, b.terms)[:len(b.parts)+b.terms]
		}
		b.parts[at*b.terms+term], b.heads[term] = score, score
	}
	return n.checkMemory(8 * len(b.parts))
}

// isDue reports whether enough was read to look whether records can be put into the queue: a look goes through all of them.
func (b *bestFirst) isDue() bool {
	return b.read >= 4*b.checked || b.read >= b.checked+b.checked/4 && b.sumHeads() < b.unseen
}

func (b *bestFirst) sumHeads() (sum float64) {
	for _, head := range b.heads {
		sum += head
	}
	return sum
}

// bound returns the score of a record as far as it is known, the most that it can have, and whether that is the same.
func (b *bestFirst) bound(at int) (least, most float64, known bool) {
	known = true
	for i, part := range b.parts[at*b.terms : (at+1)*b.terms] {
		least += part
		if part == 0 && !b.ended[i] && b.state[at]&scoreKnown == 0 {
			part, known = b.heads[i], false
		}
		most += part
	}
	return least, most, known
}

// settle puts those records into the queue whose scores are above what all others can have, where there are as many as wanted.
func (b *bestFirst) settle(ctx context.Context) (bool, error) {
	threshold, ok := b.leastWanted()
	if !ok || threshold <= b.unseen {
		return false, nil
	}
	found, unsure := b.queue[:0], 0
	for at := range b.state {
		if b.state[at]&wasQueued != 0 {
			continue
		}
		if _, most, known := b.bound(at); most >= threshold {
			found = append(found, int32(at))
			if !known {
				unsure++
			}
		}
	}
	if unsure > b.want+b.read/scoredOf {
		b.queue = found[:0]
		return false, nil
	}
	return true, b.put(ctx, found, threshold)
}

// leastWanted returns the score that as many records as wanted have at least.
func (b *bestFirst) leastWanted() (float64, bool) {
	if len(b.state) < b.want {
		return 0, false
	}
	b.least = b.least[:0]
	for at := range b.state {
		least, _, _ := b.bound(at)
		if len(b.least) < b.want {
			if b.least = append(b.least, least); len(b.least) == b.want {
				slices.Sort(b.least)
			}
		} else if least > b.least[0] {
			i, _ := slices.BinarySearch(b.least, least)
			copy(b.least, b.least[1:i])
			b.least[i-1] = least
		}
	}
	return b.least[0], true
}

// settleAll puts all records that are left into the queue, as nothing is left to read.
func (b *bestFirst) settleAll() error {
	found := b.queue[:0]
	for at := range b.state {
		if b.state[at]&wasQueued == 0 {
			found = append(found, int32(at))
		}
	}
	return b.put(context.Background(), found, -1)
}

// put makes those of the found records the queue that have the threshold.
func (b *bestFirst) put(ctx context.Context, found []int32, threshold float64) error {
	n := b.n
	b.queue, b.threshold = found[:0], threshold
	for _, at := range found {
		score, _, known := b.bound(int(at))
		if !known {
			err := b.compute(ctx, int(at))
			if errors.Is(err, storage.ErrNotFound) {
				b.state[at] |= wasQueued // it is gone since the entries were read
				continue
			}
			if err != nil {
				return err
			}
			score, _, _ = b.bound(int(at))
		}
		if score >= threshold {
			n.scores.entries[at].score = score
			b.state[at] |= wasQueued
			b.queue = append(b.queue, at)
		}
	}
	slices.SortFunc(b.queue, func(x, y int32) int {
		ex, ey := &n.scores.entries[x], &n.scores.entries[y]
		if c := cmp.Compare(ey.score, ex.score); c != 0 {
			return c
		}
		return bytes.Compare(n.scores.key(ex), n.scores.key(ey))
	})
	return nil
}

// compute finds the scores of a record in its document.
func (b *bestFirst) compute(ctx context.Context, at int) error {
	n := b.n
	if err := n.env.step(ctx); err != nil {
		return err
	}
	doc, err := n.records.read(n.recordKey(&n.scores.entries[at]))
	if err != nil {
		return err
	}
	n.stats.DocsExamined++
	if b.scores, err = n.opts.Scores(b.scores[:0], doc); err != nil {
		return err
	}
	copy(b.parts[at*b.terms:(at+1)*b.terms], b.scores)
	b.state[at] |= scoreKnown
	return nil
}
