package exec

import (
	"context"

	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/spill"
)

// KeyFunc appends the sort key of a row: byte order is the wanted order.
type KeyFunc func(dst []byte, row *Row) ([]byte, error)

// Sort reads all of its input and yields it in the order of a sort key; rows with equal keys keep their order. With a
// limit it keeps the first rows only. What exceeds the memory budget is written to a temporary file in sorted runs
// that are merged on the way out, or is an error where the query does not allow that.
type Sort struct {
	base
	key    KeyFunc
	limit  int
	loaded bool
	// Of a ranked input, how many rows were taken and the score of the last one within the limit.
	ranked bool
	whole  bool    // the sort is by the score alone
	source *TextOr // of the scores
	taken  int
	least  float64

	// entries is true if the rows are index entries, whose records are read after the sort; saved
	// says that the tree was saved since.
	entries bool
	saved   bool

	buf  sortBuffer
	held memory.Holding
	// pattern is what documents are sorted by; nil where the key is not made of the document.
	pattern index.Pattern
	spill   *spill.Runs
	out     sortSource
	row     Row
}

// sortSource gives the sorted entries. next sets the sort key, the record key and the document of a
// row, which are good until the following call. It reports false at the end.
type sortSource interface {
	next(row *Row) (bool, error)
}

// NewSort returns a sort; a limit of 0 is none.
func NewSort(env *Env, in Node, key KeyFunc, limit int64) *Sort {
	s := &Sort{base: base{env: env, inputs: []Node{in}}, key: key, held: env.Memory.Hold()}
	// A limit beyond what memory can hold is no help: the plain sort spills.
	if limit > 0 && limit < 1<<24 {
		s.limit = int(limit)
	}
	s.buf.limit = s.limit
	return s
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
func (s *Sort) Scored() { s.buf.scored = true }

// Located makes the sort keep the distances and places of its rows.
func (s *Sort) Located() { s.buf.located = true }

// KeepIndexKeys makes the sort keep the index keys of its rows, as documents.
func (s *Sort) KeepIndexKeys() { s.buf.indexKeys = new(EntryFields) }

// Keep makes the sort keep, and yield, shaped documents instead of whole ones. The sort key is made of the whole one.
func (s *Sort) Keep(shape Projector) { s.buf.shape = shape }

// ByDocument tells the pattern by which the sort key is made of documents.
func (s *Sort) ByDocument(p index.Pattern) { s.pattern = p }

// Entries says that the rows are index entries. The sort keeps their record keys only. The reader
// of the records is told if they may have changed since.
func (s *Sort) Entries() {
	s.entries = true
	s.buf.shape = func(dst []byte, _ *Row) ([]byte, error) { return dst, nil }
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
	more, err := s.out.next(&s.row)
	if err != nil {
		return nil, err
	}
	if !more || s.limit > 0 && s.stats.Advanced == uint64(s.limit) {
		return s.end()
	}
	if s.buf.located {
		s.row.RecordKey = splitPlace(&s.row, s.row.RecordKey)
	}
	if s.buf.scored {
		s.row.RecordKey, s.row.Score, s.row.Scored = splitScore(s.row.RecordKey)
	}
	if s.buf.indexKeys != nil {
		s.row.IndexKey, s.row.Doc = splitIndexKey(s.row.Doc)
	}
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
	for !s.isFull() {
		row, err := s.inputs[0].Next(ctx)
		if err != nil {
			return err
		}
		if row == nil || s.isBehind(row) {
			break
		}
		if err := s.add(row); err != nil {
			return err
		}
	}
	s.loaded = true
	s.buf.sort()
	if s.spill == nil {
		s.out = &s.buf
		return nil
	}
	if err := s.flush(); err != nil {
		return err
	}
	merged, err := s.spill.Merge()
	s.out = mergedRuns{merged}
	return err
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

func (s *Sort) add(row *Row) error {
	if len(row.Doc) >= largeRow {
		return s.addLarge(row)
	}
	if err := s.buf.add(row, s.key); err != nil {
		return err
	}
	return s.added(row)
}

// added counts a row that was added.
func (s *Sort) added(row *Row) error {
	s.stats.SortedBytes += uint64(row.size())
	s.stats.PeakBytes = max(s.stats.PeakBytes, uint64(s.buf.bytes))
	if s.buf.bytes <= s.env.SortMemory {
		return s.hold()
	}
	if !s.env.AllowDiskUse {
		return mongoerr.New(mongoerr.QueryExceededMemoryLimitNoDiskUseAllowed,
			"Sort exceeded memory limit of %d bytes, but did not opt in to external sorting.", s.env.SortMemory)
	}
	s.buf.sort()
	return s.flush()
}

// largeRow is the size of a document from which on the memory for its key and its copy is held
// before they are made.
const largeRow = 256 << 10

// addLarge adds a large row. Where the rows can go to the disk they leave half of the server's memory
// to what has to find room when they come back.
func (s *Sort) addLarge(row *Row) error {
	room := int64(s.buf.bytes + len(row.Doc) + s.pattern.KeyRoom(row.Doc))
	if !s.env.AllowDiskUse || !s.held.Spare(room) {
		if s.env.AllowDiskUse {
			room -= int64(s.buf.bytes)
			s.buf.sort()
			if err := s.flush(); err != nil {
				return err
			}
		}
		if err := s.held.Hold(room); err != nil {
			return err
		}
	}
	err := s.buf.add(row, s.key)
	s.buf.dropScratch()
	s.held.Shrink(int64(s.buf.bytes))
	if err != nil {
		return err
	}
	return s.added(row)
}

func (s *Sort) kept() int64 { return s.held.Beyond(int64(s.buf.bytes)) }

// minRun is the smallest run that is written because the server has no memory left.
const minRun = 1 << 20

// hold takes the buffer's share of the server's memory. Where that has no room, the buffer becomes a run.
func (s *Sort) hold() error {
	if !s.env.AllowDiskUse {
		return s.held.Hold(int64(s.buf.bytes))
	}
	if s.buf.bytes < minRun || s.held.Fits(int64(s.buf.bytes)) {
		return nil
	}
	s.buf.sort()
	return s.flush()
}

// flush writes the sorted buffer as one run.
func (s *Sort) flush() error {
	if len(s.buf.entries) == 0 {
		return nil
	}
	if s.spill == nil {
		s.spill = spill.New(s.env.TempDir, s.env.Memory.Hold())
	}
	for _, ref := range s.buf.entries {
		writeEntry(s.spill, ref.entry)
	}
	if err := s.spill.EndRun(); err != nil {
		return err
	}
	s.stats.Spills++
	s.stats.SpilledRecords += uint64(len(s.buf.entries))
	s.stats.SpilledBytes = uint64(s.spill.Size()) //nolint:gosec // a size
	s.buf.reset()
	s.held.Release()
	return nil
}

// Close implements Node.
func (s *Sort) Close() {
	s.base.Close()
	s.spill.Close()
	s.spill = nil
	s.buf = sortBuffer{}
	s.held.Release()
	s.row, s.out = Row{}, nil
	s.loaded, s.stats.IsEOF = true, true
}
