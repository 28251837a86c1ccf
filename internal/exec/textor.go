package exec

import (
	"context"
	"errors"

	"github.com/sheafdb/sheaf/internal/keystring"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

// TextOr adds up the scores that the terms of a search have in each record, and yields the records with them. It reads all
// entries of the terms before the first row.
type TextOr struct {
	base
	records recordReader
	opts    TextOrOptions
	prefix  []byte // of record keys

	current int // input
	loaded  bool
	scores  scoreTable
	best    ranking // where ranked
	next    int     // where not
	row     Row
	number  []byte // the score that is being read
	record  []byte
}

// TextOrOptions are the parts of a TextOr.
type TextOrOptions struct {
	Coll *table.Collection
	// ScoreAt is the length of what stands before the score in the keys of each input.
	ScoreAt []int
	// Behind are the directions of the fields behind the score.
	Behind []bool
	// Ranked gives the rows of the highest scores first.
	Ranked bool
}

// NewTextOr returns the union of scans of a text index, each of which yields the entries of one term.
func NewTextOr(env *Env, inputs []Node, o TextOrOptions) *TextOr {
	return &TextOr{
		base: base{env: env, inputs: inputs}, records: recordReader{env: env, coll: o.Coll}, opts: o, prefix: o.Coll.RecordPrefix(),
	}
}

// Next implements Node.
func (n *TextOr) Next(ctx context.Context) (*Row, error) {
	if err := n.load(ctx); err != nil {
		return nil, err
	}
	for {
		n.records.release()
		if err := n.env.step(ctx); err != nil {
			return nil, err
		}
		e := n.nextEntry()
		if e == nil {
			return n.end()
		}
		n.record = append(append(n.record[:0], n.prefix...), n.scores.key(e)...)
		n.row = Row{RecordKey: n.record, Score: e.score, Scored: true}
		doc, err := n.records.read(n.row.RecordKey)
		if errors.Is(err, storage.ErrNotFound) {
			continue // it is gone since the entries were read
		}
		if err != nil {
			return nil, err
		}
		n.stats.DocsExamined++
		n.row.Doc = doc
		return n.emit(&n.row)
	}
}

// nextEntry takes the following entry; nil where there is none.
func (n *TextOr) nextEntry() *scoreEntry {
	if n.opts.Ranked {
		if len(n.best.order) == 0 {
			return nil
		}
		return &n.scores.entries[n.best.pop()]
	}
	if n.next == len(n.scores.entries) {
		return nil
	}
	n.next++
	return &n.scores.entries[n.next-1]
}

func (n *TextOr) load(ctx context.Context) error {
	if n.loaded {
		return nil
	}
	for n.current < len(n.inputs) {
		key, err := n.nextKey(ctx)
		if err != nil {
			return err
		}
		if key == nil {
			n.current++
			continue
		}
		if err := n.add(key); err != nil {
			return err
		}
		if n.scores.size() > n.env.SortMemory {
			return mongoerr.New(mongoerr.QueryExceededMemoryLimitNoDiskUseAllowed,
				"TEXT_OR exceeded memory limit of %d bytes: too many documents have one of the words", n.env.SortMemory)
		}
	}
	n.loaded = true
	n.stats.PeakBytes = uint64(n.scores.size())
	n.scores.slots = nil
	if n.opts.Ranked {
		n.best = newRanking(&n.scores)
	}
	return nil
}

// nextKey returns the following key of the current input, with the id of the record behind it.
func (n *TextOr) nextKey(ctx context.Context) ([]byte, error) {
	in := n.inputs[n.current]
	if scan, ok := in.(*IndexScan); ok && scan.filter == nil {
		return scan.nextKey(ctx)
	}
	row, err := in.Next(ctx)
	if err != nil || row == nil {
		return nil, err
	}
	return row.Key, nil
}

// add adds the score of an entry to its record's.
func (n *TextOr) add(key []byte) error {
	key = key[n.opts.ScoreAt[n.current]:]
	score, size, number, err := keystring.Decode(n.number[:0], key, false, nil)
	if err != nil {
		return err
	}
	n.number, key = number, key[size:]
	for _, desc := range n.opts.Behind {
		if size, err = keystring.Skip(key, desc); err != nil {
			return err
		}
		key = key[size:]
	}
	f, _ := score.AsFloat64()
	n.scores.add(key, f)
	return nil
}

// Save implements Node.
func (n *TextOr) Save() {
	n.base.Save()
	n.records.close()
}

// Close implements Node.
func (n *TextOr) Close() {
	n.records.close()
	n.base.Close()
	n.scores, n.best, n.next = scoreTable{}, ranking{}, 0
	n.loaded, n.row = true, Row{}
}
