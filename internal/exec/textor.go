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

// TextOr adds up the scores of all search terms for each record, and yields the records with their
// scores. It reads all entries of the terms before it yields the first row, unless only the best
// rows are wanted.
type TextOr struct {
	base
	records recordReader
	opts    TextOrOptions
	prefix  []byte // prefix of record keys

	current int // index of the current input
	loaded  bool
	scores  scoreTable
	best    ranking    // used if Ranked
	first   *bestFirst // used if Best is set
	next    int        // next entry, if not Ranked
	row     Row
	// number is the encoding of the score that was read last, and score is its value.
	number  []byte
	score   float64
	decoded []byte
	record  []byte

	saved bool // records may have changed since their entries were read
	parts []float64
}

// TextOrOptions configure a TextOr.
type TextOrOptions struct {
	Coll *table.Collection
	// ScoreAt is the length, for each input, of the part of its keys before the score.
	ScoreAt []int
	// Behind tells, for each index field after the score, whether it is descending.
	Behind []bool
	// Ranked yields the rows in descending order of their scores.
	Ranked bool
	// Best is the number of best rows that the query is expected to read; 0 if unknown or if all
	// rows are wanted. If it is set, the inputs must yield their entries in descending order of the
	// score. More rows can still be read.
	Best int
	// Scores computes the scores of the terms in a document. It is used for records that are read
	// again after a Save, and to complete the scores of the best rows.
	Scores Scorer
}

// NewTextOr returns the union of scans of a text index. Each input yields the entries of one term.
func NewTextOr(env *Env, inputs []Node, o TextOrOptions) *TextOr {
	n := &TextOr{
		base: base{env: env, inputs: inputs}, records: recordReader{env: env, coll: o.Coll}, opts: o,
		prefix: o.Coll.RecordPrefix(),
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
			continue // the record was deleted after its entries were read
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

// IsEOF implements Node.
func (n *TextOr) IsEOF() bool { return n.stats.IsEOF }

// lookAgain reports whether the current record still matches the query, and computes its current
// score. The row keeps its place in the order, which its earlier score determined.
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

// isBehind reports whether all remaining rows have a lower score than score. It returns false if
// that is not known.
func (n *TextOr) isBehind(score float64) bool { return n.first != nil && n.first.isBehind(score) }

// nextEntry returns the next record's entry, or nil at the end.
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

// nextKey returns the next key of the current input, which ends with the id of the record. It
// returns nil at the end of the input.
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

// checkMemory fails if the scores, with more bytes in addition, exceed the memory limit.
func (n *TextOr) checkMemory(more int) error {
	limit := min(n.env.SortMemory, maxScores)
	if n.scores.size()+more <= limit {
		return nil
	}
	return mongoerr.New(mongoerr.QueryExceededMemoryLimitNoDiskUseAllowed,
		"TEXT_OR exceeded memory limit of %d bytes: too many documents have one of the words", limit)
}

// split returns the record and the score of an entry of the current input. Consecutive entries
// mostly have the same score, because the entries of a term are ordered by score; then the score is
// not decoded again.
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
