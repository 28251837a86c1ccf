package extsort

import (
	"context"
	"encoding/binary"

	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/spill"
)

const (
	// EntryBytes is what an entry takes in memory beside its bytes.
	EntryBytes = 64
	// minRun is the smallest run in bytes that is written because the server has no memory left.
	minRun = 1 << 20
	// maxHeap is the least limit for which all entries are sorted instead of the first ones kept.
	// That many do not fit into memory, and only a sort of all entries uses the disk well.
	maxHeap = 1 << 24
)

// Options are what a Sorter may use.
type Options struct {
	// Limit is how many of the first entries are wanted; 0 means all.
	Limit int64
	// Memory is how many bytes of entries stay in memory.
	Memory int
	// Budget is the memory of the server, in which the entries count; nil has no limit.
	Budget *memory.Budget
	// Disk allows a temporary file in Dir, or in the system's folder for such files if Dir is
	// empty.
	Disk bool
	Dir  string
	// Heads makes the sorter keep the heads of entries.
	Heads bool
}

// Entry is a sort key with a value, which has one or two parts.
type Entry struct {
	Key []byte
	// Head is the first part of the value. Only a sorter with Options.Heads keeps it.
	Head []byte
	Body []byte
}

// Spilled is what a Sorter has written to the disk.
type Spilled struct {
	Runs, Entries int
	Bytes         int64
}

// Sorter sorts entries:
//
//	for each entry { sorter.Add(ctx, &entry) }
//	sorter.Finish(ctx)
//	for sorter.Next(&entry) { … }
//	sorter.Close()
//
// The zero Sorter may be closed. A Sorter belongs to one goroutine. After an error only Close may
// follow.
type Sorter struct {
	opts     Options
	held     memory.Holding
	reserved bool // the holding covers more than the entries
	buf      buffer
	runs     *spill.Runs
	merged   *spill.Merge
	spilled  Spilled
	returned int64

	running interrupt.Running
	meter   interrupt.Meter
}

// New returns an empty Sorter.
func New(opts Options) *Sorter {
	s := new(Sorter)
	s.Init(opts)
	return s
}

// Init makes a zero Sorter ready. It takes nothing of the budget yet.
func (s *Sorter) Init(opts Options) {
	s.opts, s.held = opts, opts.Budget.Hold()
	if opts.Limit < maxHeap {
		s.buf.limit = int(opts.Limit)
	}
}

// Accepts reports whether an entry with the key would be kept. A sorter with a limit drops entries
// that are not among the first; a caller that asks before it makes the value saves that work.
func (s *Sorter) Accepts(key []byte) bool { return s.buf.accepts(key) }

// Add copies an entry into the sorter. It fails if there is too little memory.
func (s *Sorter) Add(ctx context.Context, e *Entry) error {
	s.buf.seq++
	if !s.buf.accepts(e.Key) {
		return nil
	}
	s.buf.add(e)
	if s.reserved {
		s.reserved = false
		s.held.Shrink(int64(s.buf.bytes))
	}
	if s.buf.bytes <= s.opts.Memory {
		if ok, err := s.fits(); ok || err != nil {
			return err
		}
	}
	return s.flush(ctx)
}

// fits makes the holding cover the entries. If the server has no memory left it fails, or reports
// false if the entries can go to the disk.
func (s *Sorter) fits() (bool, error) {
	n := int64(s.buf.bytes)
	if !s.opts.Disk {
		return true, s.held.Hold(n)
	}
	return n < minRun || s.held.Fits(n), nil
}

// Reserve takes n bytes of the budget that the key and the copy of a large entry will need. Call it
// before they are made. Add gives back what the entry did not need.
//
// A sorter that can use the disk leaves half of the budget to those that cannot: if the entries do
// not fit into the other half they are written first.
func (s *Sorter) Reserve(ctx context.Context, n int) error {
	s.reserved = true
	s.held.Shrink(int64(s.buf.bytes))
	if !s.opts.Disk {
		return s.held.Hold(int64(s.buf.bytes + n))
	}
	if s.held.Spare(int64(s.buf.bytes + n)) {
		return nil
	}
	if err := s.flush(ctx); err != nil {
		return err
	}
	return s.held.Hold(int64(n))
}

// flush writes the entries as one run.
func (s *Sorter) flush(ctx context.Context) error {
	if !s.opts.Disk {
		return mongoerr.New(mongoerr.QueryExceededMemoryLimitNoDiskUseAllowed,
			"Sort exceeded memory limit of %d bytes, but did not opt in to external sorting.", s.opts.Memory)
	}
	if len(s.buf.refs) == 0 {
		return nil
	}
	if s.runs == nil {
		s.runs = spill.New(s.opts.Dir, s.opts.Budget.Hold())
	}
	s.running.Set(ctx)
	if err := s.sort(); err != nil {
		return err
	}
	for _, ref := range s.buf.refs {
		s.write(ref.entry)
		if err := s.meter.Did(interrupt.Document+len(ref.entry.data), &s.running); err != nil {
			return err
		}
	}
	if err := s.runs.EndRun(); err != nil {
		return err
	}
	s.spilled = Spilled{s.runs.Count(), s.spilled.Entries + len(s.buf.refs), s.runs.Size()}
	s.buf.reset()
	s.held.Release()
	return nil
}

// write adds an entry to the current run. With heads its payload is:
//
//	length of the head (uvarint) | head | body
func (s *Sorter) write(e *entry) {
	value := e.data[e.keyLen:]
	if !s.opts.Heads {
		s.runs.Add(e.key(), value)
		return
	}
	var length [binary.MaxVarintLen64]byte
	s.runs.Add(e.key(), binary.AppendUvarint(length[:0], uint64(e.headLen)), value) //nolint:gosec // a length
}

func (s *Sorter) sort() error { return sortRefs(s.buf.refs, &s.meter, &s.running) }

// Finish ends the adding and sorts what was added.
func (s *Sorter) Finish(ctx context.Context) error {
	s.held.Shrink(int64(s.buf.bytes))
	s.running.Set(ctx)
	if s.runs == nil {
		return s.sort()
	}
	err := s.flush(ctx)
	if err != nil {
		return err
	}
	s.merged, err = s.runs.Merge()
	return err
}

// Next sets e to the next entry, which is valid until the following call. It reports false at the
// end.
func (s *Sorter) Next(e *Entry) (bool, error) {
	if s.opts.Limit > 0 && s.returned == s.opts.Limit {
		return false, nil
	}
	s.returned++
	if s.merged == nil {
		return s.buf.next(e), nil
	}
	if !s.merged.Next() {
		return false, s.merged.Err()
	}
	e.Key, e.Body = s.merged.Key(), s.merged.Payload()
	if s.opts.Heads {
		length, n := binary.Uvarint(e.Body)
		end := n + int(length) //nolint:gosec // a length that write wrote
		e.Head, e.Body = e.Body[n:end:end], e.Body[end:]
	}
	return true, nil
}

// Done reports whether it is known, without a look at the disk, that no entry is left.
func (s *Sorter) Done() bool { return s.merged == nil && s.buf.pos == len(s.buf.refs) }

// Uncounted returns how many bytes of the entries do not count in the budget.
func (s *Sorter) Uncounted() int64 { return s.held.Beyond(int64(s.buf.bytes)) }

// Spilled returns what went to the disk so far; nothing for a nil Sorter.
func (s *Sorter) Spilled() Spilled {
	if s == nil {
		return Spilled{}
	}
	return s.spilled
}

// Close removes the temporary file and frees the memory. It may be called more than once, and on a
// nil Sorter.
func (s *Sorter) Close() {
	if s == nil {
		return
	}
	s.runs.Close()
	s.runs, s.merged, s.buf = nil, nil, buffer{}
	s.held.Release()
}
