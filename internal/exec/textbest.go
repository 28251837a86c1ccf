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

// Scorer appends to dst the score of each search term in a document, in the order of the inputs of
// the search.
type Scorer func(dst []float64, doc bsonx.Doc) ([]float64, error)

const (
	// bestBlock is the number of entries of one term that are read before the next term is
	// considered.
	bestBlock = 32
	// bestGrowth is the factor by which the number of wanted rows grows when more rows are
	// requested.
	bestGrowth = 4
	// scoredOf bounds the documents that are read to compute scores: about one for every scoredOf
	// entries read. Reading an entry is cheaper than reading a document by about this factor.
	scoredOf = 64
)

// BestTerms is the largest number of terms for which a TextOr can find the best records without
// reading all entries. The score of each term is stored separately, so that the sum is always
// computed in the same order.
const BestTerms = 8

// bestFirst finds the records with the highest scores before it has read all entries. The entries
// of each term are ordered by descending score. Thus the last score read of a term bounds the
// scores of its unread entries. The score of a record is at most its known scores plus the bounds
// of the other terms.
//
// When enough records have a score that no other record can reach, they are the best records. If
// the scores of some of their terms are still unknown, bestFirst computes them from the documents.
type bestFirst struct {
	n     *TextOr
	want  int
	terms int
	parts []float64 // for each record the scores of all terms; 0 means unknown
	state []bestState
	heads []float64 // for each term, an upper bound for the scores of its unread entries
	ended []bool

	// read is the number of entries read so far. checked is the value of read at the last check;
	// see isDue.
	read, checked int
	unseen        float64 // at the last check, the bound of the score of records not found yet
	queue         []int32
	threshold     float64 // all records with at least this score have been queued
	least         []float64
	scores        []float64
}

// bestState is a set of flags of a record.
type bestState uint8

const (
	scoreKnown bestState = 1 << iota // the scores of all terms are known
	wasQueued
)

func newBestFirst(n *TextOr, want int) *bestFirst {
	terms := len(n.inputs)
	return &bestFirst{n: n, want: want, terms: terms, heads: make([]float64, terms), ended: make([]bool, terms)}
}

// next returns the record with the highest remaining score, or nil at the end.
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

// isBehind reports whether all remaining records have a lower score.
func (b *bestFirst) isBehind(score float64) bool {
	if len(b.queue) > 0 {
		return b.n.scores.entries[b.queue[0]].score < score
	}
	return b.checked > 0 && b.threshold <= score
}

// fill reads entries until records can be queued, or all entries are read.
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

// readBlock reads up to bestBlock entries of a term.
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

// isDue reports whether enough entries were read since the last check to justify another check,
// which visits all records.
func (b *bestFirst) isDue() bool {
	return b.read >= 4*b.checked || b.read >= b.checked+b.checked/4 && b.sumHeads() < b.unseen
}

func (b *bestFirst) sumHeads() (sum float64) {
	for _, head := range b.heads {
		sum += head
	}
	return sum
}

// bound returns the score of a record as far as it is known, and an upper bound of it. known
// reports whether the score is complete.
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

// settle queues the records whose scores exceed every score that other records can reach. It
// returns false if fewer records than wanted are that certain, or if too many documents would have
// to be read.
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

// leastWanted returns the highest score that at least b.want records are known to reach. It returns
// false if fewer records were found.
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

// settleAll queues all remaining records, after all entries were read.
func (b *bestFirst) settleAll() error {
	found := b.queue[:0]
	for at := range b.state {
		if b.state[at]&wasQueued == 0 {
			found = append(found, int32(at))
		}
	}
	return b.put(context.Background(), found, -1)
}

// put makes the queue of the found records whose score is at least the threshold, in descending
// order of the score. It computes scores that are not known.
func (b *bestFirst) put(ctx context.Context, found []int32, threshold float64) error {
	n := b.n
	b.queue, b.threshold = found[:0], threshold
	for _, at := range found {
		score, _, known := b.bound(int(at))
		if !known {
			err := b.compute(ctx, int(at))
			if errors.Is(err, storage.ErrNotFound) {
				b.state[at] |= wasQueued // the record was deleted after its entries were read
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

// compute sets the scores of a record from its document.
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
