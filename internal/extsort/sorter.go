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
	// EntryBytes estimates the memory of an entry without its contents, in bytes.
	EntryBytes = 64
	// minRun is the least size in bytes of a run that is written because the server's memory is
	// exhausted.
	minRun = 1 << 20
	// maxHeap is the limit from which a Sorter sorts all entries instead of keeping the first ones
	// in a heap. That many entries do not fit into memory, and only a sort of all entries uses the
	// disk well.
	maxHeap = 1 << 24
)

// Options configure a Sorter.
type Options struct {
	// Limit is the number of first entries to return; 0 means all.
	Limit int64
	// Memory is the largest total size of entries in memory, in bytes.
	Memory int
	// Budget is the memory budget of the server; nil means no limit.
	Budget *memory.Budget
	// Disk allows a temporary file.
	Disk bool
	// Dir is the folder of the temporary file. If it is empty, the file is in the system's folder
	// for temporary files.
	Dir string
	// Heads makes the Sorter keep the heads of entries.
	Heads bool
}

// Entry is a sort key with a value, which has one or two parts.
type Entry struct {
	Key []byte
	// Head is the first part of the value. Only a Sorter with Options.Heads keeps it.
	Head []byte
	Body []byte
}

// Spilled is the number of runs and entries, and their size, that a Sorter has written to disk.
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
// A zero Sorter may be closed. Only one goroutine may use a Sorter. After an error only Close may
// be called.
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

// Init initialises a zero Sorter. It does not reserve memory yet.
func (s *Sorter) Init(opts Options) {
	s.opts, s.held = opts, opts.Budget.Hold()
	if opts.Limit < maxHeap {
		s.buf.limit = int(opts.Limit)
	}
}

// Accepts reports whether an entry with the key would be kept. A Sorter with a limit drops entries
// that are not among the first. A caller can use Accepts to avoid computing the value of such an
// entry.
func (s *Sorter) Accepts(key []byte) bool { return s.buf.accepts(key) }

// Add copies an entry into the Sorter. If the memory is full, it writes a run, or fails if the disk
// may not be used.
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

// fits reserves memory in the budget for the entries. If the budget is exhausted, it fails, or
// returns false if the entries can be written to disk.
func (s *Sorter) fits() (bool, error) {
	n := int64(s.buf.bytes)
	if !s.opts.Disk {
		return true, s.held.Hold(n)
	}
	return n < minRun || s.held.Fits(n), nil
}

// Reserve reserves n bytes of the budget for the key and the copy of a large entry. It must be
// called before they are allocated. Add then releases the bytes that the entry did not need.
//
// A Sorter that can use the disk leaves half of the budget to operations that cannot. If its
// entries do not fit into the other half, Reserve first writes them to disk.
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

// flush writes all entries as one run.
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

// write adds an entry to the current run. With Options.Heads its payload is:
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

// Finish ends the phase of Add and sorts the entries.
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

// Next sets e to the next entry, which is valid until the next call. It returns false at the end.
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

// Done reports whether the Sorter is known to have no further entry. It does not read from disk, so
// it returns false while runs are merged.
func (s *Sorter) Done() bool { return s.merged == nil && s.buf.pos == len(s.buf.refs) }

// Uncounted returns the bytes of entries that are not accounted for in the budget.
func (s *Sorter) Uncounted() int64 { return s.held.Beyond(int64(s.buf.bytes)) }

// Spilled returns the amount of data written to disk so far. A nil Sorter has written nothing.
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
