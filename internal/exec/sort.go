package exec

import (
	"context"

	"github.com/sheafdb/sheaf/internal/extsort"
	"github.com/sheafdb/sheaf/internal/index"
)

// KeyFunc appends the sort key of a row: byte order is the wanted order.
type KeyFunc func(dst []byte, row *Row) ([]byte, error)

// Sort reads all of its input and yields it in the order of a sort key; rows with equal keys keep their order. With a
// limit it keeps the first rows only. What exceeds the memory budget is written to a temporary file in sorted runs
// that are merged on the way out, or is an error where the query does not allow that.
type Sort struct {
	base
	key    KeyFunc
	limit  int64
	loaded bool
	// Of a ranked input, how many rows were taken and the score of the last one within the limit.
	ranked bool
	whole  bool    // the sort is by the score alone
	source *TextOr // of the scores
	taken  int64
	least  float64

	// entries is true if the rows are index entries, whose records are read after the sort; saved
	// says that the tree was saved since.
	entries bool
	saved   bool

	rows sortRows
	// pattern is what documents are sorted by; nil where the key is not made of the document.
	pattern index.Pattern
	begun   bool // the sorter was made ready
	sorter  extsort.Sorter
	scratch []byte // the sort key of the row that is added
	row     Row
}

// NewSort returns a sort; a limit of 0 is none.
func NewSort(env *Env, in Node, key KeyFunc, limit int64) *Sort {
	return &Sort{base: base{env: env, inputs: []Node{in}}, key: key, limit: limit}
}

// Ranked tells that the input comes in descending order of its scores, and that those are the first part of the sort key, or all of
// it where whole is true. A sort with a limit then need not read it to its end.
func (s *Sort) Ranked(whole bool) {
	s.ranked, s.whole = true, whole
	for in := s.inputs[0]; s.source == nil; in = in.Inputs()[0] {
		s.source, _ = Bare(in).(*TextOr)
		if len(in.Inputs()) == 0 {
			return
		}
	}
}

// Scored makes the sort keep the scores of its rows.
func (s *Sort) Scored() { s.rows.scored = true }

// Located makes the sort keep the distances and places of its rows.
func (s *Sort) Located() { s.rows.located = true }

// KeepIndexKeys makes the sort keep the index keys of its rows, as documents.
func (s *Sort) KeepIndexKeys() { s.rows.indexKeys = new(EntryFields) }

// Keep makes the sort keep, and yield, shaped documents instead of whole ones. The sort key is made of the whole one.
func (s *Sort) Keep(shape Projector) { s.rows.shape = shape }

// ByDocument tells the pattern by which the sort key is made of documents.
func (s *Sort) ByDocument(p index.Pattern) { s.pattern = p }

// Entries says that the rows are index entries. The sort keeps their record keys only. The reader
// of the records is told if they may have changed since.
func (s *Sort) Entries() {
	s.entries = true
	s.rows.shape = func(dst []byte, _ *Row) ([]byte, error) { return dst, nil }
}

// Next implements Node.
func (s *Sort) Next(ctx context.Context) (*Row, error) {
	if !s.loaded {
		if err := s.load(ctx); err != nil {
			return nil, err
		}
	}
	if s.stats.IsEOF {
		return nil, nil
	}
	if err := s.env.step(ctx); err != nil {
		return nil, err
	}
	s.stats.Works++
	var e extsort.Entry
	more, err := s.sorter.Next(&e)
	if err != nil {
		return nil, err
	}
	if !more {
		return s.end()
	}
	s.rows.read(&s.row, &e)
	if s.entries {
		s.row.Doc, s.row.Held = nil, s.saved
	}
	return s.emit(&s.row)
}

// Save implements Node.
func (s *Sort) Save() {
	s.saved = true
	s.base.Save()
}

func (s *Sort) load(ctx context.Context) error {
	if !s.begun {
		s.begun = true
		s.sorter.Init(extsort.Options{
			Limit: s.limit, Memory: s.env.SortMemory, Budget: s.env.Memory, Disk: s.env.AllowDiskUse, Dir: s.env.TempDir, Heads: true,
		})
	}
	defer s.countSpilled()
	for !s.isFull() {
		row, err := s.inputs[0].Next(ctx)
		if err != nil {
			return err
		}
		if row == nil || s.isBehind(row) {
			break
		}
		if err := s.add(ctx, row); err != nil {
			return err
		}
	}
	s.loaded = true
	return s.sorter.Finish(ctx)
}

func (s *Sort) countSpilled() {
	spilled := s.sorter.Spilled()
	s.stats.Spills = uint64(spilled.Runs)            //nolint:gosec // a count
	s.stats.SpilledRecords = uint64(spilled.Entries) //nolint:gosec // a count
	s.stats.SpilledBytes = uint64(spilled.Bytes)     //nolint:gosec // a size
}

// isFull reports whether no row that a ranked input has left can be among the first.
func (s *Sort) isFull() bool {
	if !s.ranked || s.limit == 0 || s.taken < s.limit {
		return false
	}
	return s.whole || s.source != nil && s.source.isBehind(s.least)
}

// isBehind reports whether neither a row of a ranked input nor any that follows can be among the first.
func (s *Sort) isBehind(row *Row) bool {
	if !s.ranked || s.limit == 0 {
		return false
	}
	if s.taken++; s.taken == s.limit {
		s.least = row.Score
	}
	return s.taken > s.limit && row.Score < s.least
}

// largeRow is the size of a document from which on the memory for its key and its copy is held
// before they are made.
const largeRow = 256 << 10

// maxScratch is the size of the largest buffers that are kept from one large row to the next.
const maxScratch = 64 << 10

func (s *Sort) add(ctx context.Context, row *Row) error {
	large := len(row.Doc) >= largeRow
	if large {
		if err := s.sorter.Reserve(ctx, len(row.Doc)+s.pattern.KeyRoom(row.Doc)); err != nil {
			return err
		}
	}
	var err error
	if s.scratch, err = s.key(s.scratch[:0], row); err != nil {
		return err
	}
	s.stats.SortedBytes += uint64(row.size())
	if s.sorter.Accepts(s.scratch) {
		e := extsort.Entry{Key: s.scratch}
		if e.Head, e.Body, err = s.rows.parts(row); err != nil {
			return err
		}
		err = s.sorter.Add(ctx, &e)
	}
	if large {
		s.dropScratch()
	}
	return err
}

// dropScratch frees what adding a large row has left.
func (s *Sort) dropScratch() {
	if cap(s.scratch) > maxScratch {
		s.scratch = nil
	}
	s.rows.dropScratch()
}

func (s *Sort) kept() int64 { return s.sorter.Uncounted() }

// Close implements Node.
func (s *Sort) Close() {
	s.base.Close()
	s.sorter.Close()
	s.scratch, s.rows = nil, sortRows{}
	s.row = Row{}
	s.loaded, s.stats.IsEOF = true, true
}
