package exec

import (
	"bytes"
	"context"
	"errors"

	"github.com/sheafdb/sheaf/internal/keystring"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

// TextOr adds up the scores that the terms of a search have in each record, and yields the records with them. It reads all
// entries of the terms before the first row, unless only the best are wanted.
type TextOr struct {
	base
	records recordReader
	opts    TextOrOptions
	prefix  []byte // of record keys

	current int // input
	loaded  bool
	scores  scoreTable
	best    ranking    // where ranked
	first   *bestFirst // where only some of the best are wanted
	next    int        // where not ranked
	row     Row
	number  []byte // the score that was read last, and its value
	score   float64
	decoded []byte
	record  []byte

	saved bool // records may have changed since their entries were read
	parts []float64
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
	// Best is how many of them are wanted, at most perhaps, where it is known; 0 is all. The inputs must then yield the highest scores
	// first.
	Best int
	// Scores gives what the terms have in a record that is looked at again.
	Scores Scorer
}

// NewTextOr returns the union of scans of a text index, each of which yields the entries of one term.
func NewTextOr(env *Env, inputs []Node, o TextOrOptions) *TextOr {
	n := &TextOr{
		base: base{env: env, inputs: inputs}, records: recordReader{env: env, coll: o.Coll}, opts: o, prefix: o.Coll.RecordPrefix(),
	}
	if o.Best > 0 {
		n.first = newBestFirst(n, o.Best)
	}
	return n
}

// Next implements Node.
func (n *TextOr) Next(ctx context.Context) (*Row, error) {
	for {
		n.records.release()
		if err := n.env.step(ctx); err != nil {
			return nil, err
		}
		e, err := n.nextEntry(ctx)
		if err != nil {
			return nil, err
		}
		if e == nil {
			return n.end()
		}
		n.row = Row{RecordKey: n.recordKey(e), Score: e.score, Scored: true}
		doc, err := n.records.read(n.row.RecordKey)
		if errors.Is(err, storage.ErrNotFound) {
			continue // it is gone since the entries were read
		}
		if err != nil {
			return nil, err
		}
		n.stats.DocsExamined++
		n.row.Doc = doc
		if n.saved {
			if ok, err := n.lookAgain(); err != nil {
				return nil, err
			} else if !ok {
				continue
			}
		}
		return n.emit(&n.row)
	}
}

// lookAgain reports whether the record that is the row still matches, and gives it the score that it has
// now. Its place among the others stays the one of the score that it had.
func (n *TextOr) lookAgain() (bool, error) {
	if ok, err := n.env.matchesWhole(n.row.Doc); err != nil || !ok {
		return false, err
	}
	var err error
	if n.parts, err = n.opts.Scores(n.parts[:0], n.row.Doc); err != nil {
		return false, err
	}
	n.row.Score = 0
	for _, part := range n.parts {
		n.row.Score += part
	}
	return true, nil
}

func (n *TextOr) recordKey(e *scoreEntry) []byte {
	n.record = append(append(n.record[:0], n.prefix...), n.scores.key(e)...)
	return n.record
}

// isBehind reports whether all rows to come have a lower score.
func (n *TextOr) isBehind(score float64) bool { return n.first != nil && n.first.isBehind(score) }

// nextEntry takes the following entry; nil if there is none.
func (n *TextOr) nextEntry(ctx context.Context) (*scoreEntry, error) {
	if n.first != nil {
		return n.first.next(ctx)
	}
	if err := n.load(ctx); err != nil {
		return nil, err
	}
	if n.opts.Ranked {
		if len(n.best.order) == 0 {
			return nil, nil
		}
		return &n.scores.entries[n.best.pop()], nil
	}
	if n.next == len(n.scores.entries) {
		return nil, nil
	}
	n.next++
	return &n.scores.entries[n.next-1], nil
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
		record, score, err := n.split(key)
		if err != nil {
			return err
		}
		n.scores.add(record, score)
		if err := n.checkMemory(0); err != nil {
			return err
		}
	}
	n.loaded = true
	n.scores.slots = nil
	if n.opts.Ranked {
		n.best = newRanking(&n.scores)
	}
	return nil
}

// nextKey returns the following key of the current input, with the id of the record behind it.
func (n *TextOr) nextKey(ctx context.Context) ([]byte, error) {
	in := n.inputs[n.current]
	if scan, ok := Bare(in).(*IndexScan); ok && scan.filter == nil {
		return scan.nextKey(ctx)
	}
	row, err := in.Next(ctx)
	if err != nil || row == nil {
		return nil, err
	}
	return row.Key, nil
}

// checkMemory fails where the records that were found, and so many bytes more, take too much.
func (n *TextOr) checkMemory(more int) error {
	limit := min(n.env.SortMemory, maxScores)
	if n.scores.size()+more <= limit {
		return nil
	}
	return mongoerr.New(mongoerr.QueryExceededMemoryLimitNoDiskUseAllowed,
		"TEXT_OR exceeded memory limit of %d bytes: too many documents have one of the words", limit)
}

// split returns the record and the score of an entry of the current input. Those of a term are in the order of the scores, so that
// the score is mostly the one before.
func (n *TextOr) split(key []byte) (record []byte, score float64, err error) {
	key = key[n.opts.ScoreAt[n.current]:]
	if len(n.number) == 0 || !bytes.HasPrefix(key, n.number) {
		value, size, decoded, err := keystring.Decode(n.decoded[:0], key, false, nil)
		if err != nil {
			return nil, 0, err
		}
		n.score, _ = value.AsFloat64()
		n.decoded, n.number = decoded, append(n.number[:0], key[:size]...)
	}
	key = key[len(n.number):]
	for _, desc := range n.opts.Behind {
		size, err := keystring.Skip(key, desc)
		if err != nil {
			return nil, 0, err
		}
		key = key[size:]
	}
	return key, n.score, nil
}

// Save implements Node.
func (n *TextOr) Save() {
	n.base.Save()
	n.records.close()
	n.saved = true
}

// Close implements Node.
func (n *TextOr) Close() {
	n.records.close()
	n.base.Close()
	n.scores.release()
	n.best, n.first, n.next = ranking{}, nil, 0
	n.opts.Ranked, n.loaded, n.row = false, true, Row{}
}
