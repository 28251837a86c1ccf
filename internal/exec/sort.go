package exec

import (
	"context"

	"github.com/sheafdb/sheaf/internal/extsort"
	"github.com/sheafdb/sheaf/internal/index"
)

// KeyFunc appends the sort key of a row to dst. Comparing the keys as bytes gives the order of the
// sort.
type KeyFunc func(dst []byte, row *Row) ([]byte, error)

// Sort reads all of its input and yields it ordered by a sort key. Rows with equal keys keep their
// order. With a limit it keeps only the first rows. If the rows exceed the memory limit, sorted
// runs are spilled to a temporary file and merged at the end. If the query does not allow that, the
// sort fails.
type Sort struct {
	base
	key    KeyFunc
	limit  int64
	loaded bool
	// ranked says that the input is ordered by descending score.
	ranked bool
	whole  bool    // the sort key is the score alone
	source *TextOr // the input that computes the scores
	taken  int64   // number of rows read from a ranked input
	least  float64 // score of the last row within the limit, if the input is ranked

	// entries says that the rows are index entries, whose records are read after the sort.
	entries bool
	saved   bool // the tree has been saved

	rows sortRows
	// pattern is the sort pattern if the sort key is built from the document; otherwise it is nil.
	pattern index.Pattern
	begun   bool // the sorter is initialised
	sorter  extsort.Sorter
	scratch []byte // buffer for the sort key of the row being added
	row     Row
}

// NewSort returns a sort. A limit of 0 means no limit.
func NewSort(env *Env, in Node, key KeyFunc, limit int64) *Sort {
	return &Sort{base: base{env: env, inputs: []Node{in}}, key: key, limit: limit}
}

// Ranked declares that the input is ordered by descending score, and that the score is the first
// part of the sort key. If whole is true, the score is the whole sort key. A sort with a limit then
// need not read its input to the end.
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

// KeepIndexKeys makes the sort keep the index keys of its rows as documents, in Row.IndexKey.
func (s *Sort) KeepIndexKeys() { s.rows.indexKeys = new(EntryFields) }

// Keep makes the sort keep and yield documents shaped by shape. The sort key is still built from
// the whole document.
func (s *Sort) Keep(shape Projector) { s.rows.shape = shape }

// ByDocument declares that the sort key is built from the document by the pattern p.
func (s *Sort) ByDocument(p index.Pattern) { s.pattern = p }

// Entries declares that the rows are index entries. The sort keeps only their record keys, and the
// records are read after the sort. If the tree was saved meanwhile, the rows are marked as Held.
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

// IsEOF implements Node.
func (s *Sort) IsEOF() bool { return s.stats.IsEOF || s.loaded && s.sorter.Done() }

// Save implements Node.
func (s *Sort) Save() {
	s.saved = true
	s.base.Save()
}

func (s *Sort) load(ctx context.Context) error {
	if !s.begun {
		s.begun = true
		s.sorter.Init(extsort.Options{
			Limit: s.limit, Memory: s.env.SortMemory, Budget: s.env.Memory, Disk: s.env.AllowDiskUse,
			Dir: s.env.TempDir, Heads: true,
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

// isFull reports whether no further row of a ranked input can be among the first rows.
func (s *Sort) isFull() bool {
	if !s.ranked || s.limit == 0 || s.taken < s.limit {
		return false
	}
	return s.whole || s.source != nil && s.source.isBehind(s.least)
}

// isBehind counts a row of a ranked input, and reports whether neither the row nor any later one
// can be among the first rows.
func (s *Sort) isBehind(row *Row) bool {
	if !s.ranked || s.limit == 0 {
		return false
	}
	if s.taken++; s.taken == s.limit {
		s.least = row.Score
	}
	return s.taken > s.limit && row.Score < s.least
}

// largeRow is the size of a document in bytes from which the memory for its key and its copy is
// reserved before it is allocated.
const largeRow = 256 << 10

// maxScratch is the largest capacity, in bytes, of a buffer that is kept after a large row.
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

// dropScratch frees the buffers if a large row has grown them.
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
