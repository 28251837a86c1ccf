package exec

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

const (
	// parallelAfter is how many records a scan has looked at before others help: to start them costs as much as some
	// hundred records.
	parallelAfter = 8192
	// maxWorkers bounds the goroutines of one scan.
	maxWorkers = 4
	// shareInterval is how many records a worker looks at between two looks at the others.
	shareInterval = 128
)

// ParallelScan reads a collection's records by several goroutines, each record once and in no order. It is for plans that
// end in something to which the order is nothing and that can be put together from parts: a count, a $group.
//
// It begins as one scan. When that proves long and processors are idle, other workers start without work. A worker that
// sees another one wait gives it the upper half of its own range: halves by the bytes of the keys, which need not be halves
// of the records. A wrong guess is mended by the next one: whoever is done early asks for more.
type ParallelScan struct {
	reader  *Reader
	options CollScanOptions
	procs   *Processors
	after   uint64
	work    func(ctx context.Context, in Node) error
	instead *CollScan // gets the counters, if not nil

	// wanted is how many workers wait for a range beyond those on offer; it is what a worker looks at between records.
	wanted atomic.Int32
	failed atomic.Bool

	mu      sync.Mutex
	changed sync.Cond
	running sync.WaitGroup // the goroutines that were started
	workers int            // their number, with the caller
	offers  []keyRange     // ranges that nobody reads yet
	readers int            // workers that have a range
	waiting int            // workers that have none
	err     error          // the first one
	panic   any            // of a started goroutine
	stats   Stats
}

// keyRange is a range [lower, upper) of record keys.
type keyRange struct{ lower, upper []byte }

// NewParallelScan returns a scan of what options select. The reader must have its snapshot: all workers read from it.
func NewParallelScan(reader *Reader, o CollScanOptions, procs *Processors) *ParallelScan {
	p := &ParallelScan{reader: reader, options: o, procs: procs, after: parallelAfter}
	p.changed.L = &p.mu
	lower, upper := o.bounds()
	p.offers = []keyRange{{lower, upper}}
	return p
}

// Parallel returns the scan that reads in parallel what a node would, and gives the node its counters; nil where the node is
// no collection scan at its beginning, where the number of records looked at matters, or where the reader is not one that
// goroutines can share.
func Parallel(n Node, procs *Processors) *ParallelScan {
	scan, ok := n.(*CollScan)
	if !ok || scan.stats.Works > 0 || scan.env.limit != math.MaxUint64 || scan.tailable {
		return nil
	}
	reader, ok := scan.env.Reader.(*Reader)
	if !ok || !reader.Pinned() {
		return nil
	}
	p := NewParallelScan(reader, scan.options, procs)
	p.instead = scan
	return p
}

// Run calls work with a node that yields records, and calls it again on other goroutines while there are idle processors and
// records left to share. It returns when all calls have returned. The first error ends the others; which of several errors
// is the first is chance.
//
// work must read its node to the end, unless it fails. A node is not to be saved, and is closed by Run.
func (p *ParallelScan) Run(ctx context.Context, work func(ctx context.Context, in Node) error) error {
	p.work = work
	p.procs.enter()
	defer p.procs.leave()
	p.workers = 1
	func() {
		defer p.running.Wait() // in a panic too: the reader is the caller's
		p.call(ctx)
	}()
	if p.panic != nil {
		panic(p.panic)
	}
	if p.err == nil && p.instead != nil {
		p.instead.stats = p.stats
		p.instead.stats.IsEOF = true
	}
	return p.err
}

// Workers returns how many goroutines took part, after Run.
func (p *ParallelScan) Workers() int { return p.workers }

// Stats returns the counters of all nodes together, after Run.
func (p *ParallelScan) Stats() *Stats { return &p.stats }

// call is the life of one worker.
func (p *ParallelScan) call(ctx context.Context) {
	s := newShare(p)
	// A panic goes on, but does not leave the others waiting.
	done := false
	defer func() {
		s.Close()
		if !done {
			p.fail(errors.New("exec: a worker of the scan panicked"))
		}
	}()
	err := p.work(ctx, s)
	done = true
	if err != nil {
		p.fail(err)
	}
}

// recruit starts another worker if there is a processor for it.
func (p *ParallelScan) recruit(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.workers == maxWorkers || p.waiting > 0 || p.err != nil || !p.procs.borrow() {
		return
	}
	p.workers++
	p.running.Go(func() {
		defer p.procs.leave()
		// The panic belongs to the operation, which knows what to do about it: Run panics in its goroutine.
		defer func() {
			if v := recover(); v != nil {
				p.mu.Lock()
				p.panic = fmt.Sprintf("%v\n%s", v, debug.Stack())
				p.mu.Unlock()
			}
		}()
		p.call(ctx)
	})
}

// fail ends the scan.
func (p *ParallelScan) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = err
	}
	p.failed.Store(true)
	p.changed.Broadcast()
}

// offer gives a range to whoever waits.
func (p *ParallelScan) offer(r keyRange) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.offers = append(p.offers, r)
	p.count()
	p.changed.Signal()
}

// claim waits for a range. It reports false at the end: nobody has a range any more, or the scan has failed.
func (p *ParallelScan) claim() (r keyRange, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting++
	p.count()
	for len(p.offers) == 0 && p.readers > 0 && p.err == nil {
		p.changed.Wait()
	}
	p.waiting--
	if len(p.offers) > 0 && p.err == nil {
		r, p.offers = p.offers[0], p.offers[1:]
		p.readers++
		ok = true
	}
	p.count()
	return r, ok
}

// release says that a range is read.
func (p *ParallelScan) release(stats *Stats) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Works += stats.Works
	p.stats.Advanced += stats.Advanced
	p.stats.DocsExamined += stats.DocsExamined
	p.readers--
	if p.readers == 0 {
		p.changed.Broadcast()
	}
}

func (p *ParallelScan) count() { p.wanted.Store(int32(p.waiting - len(p.offers))) }

// share is one worker's part of a ParallelScan: scans of ranges, one after another.
type share struct {
	base
	scan *ParallelScan
	part *CollScan // of the current range; nil between two
}

func newShare(p *ParallelScan) *share {
	return &share{base: base{env: NewEnv(p.reader)}, scan: p}
}

// Next implements Node.
func (s *share) Next(ctx context.Context) (*Row, error) {
	for {
		if s.part == nil && !s.claim() {
			return s.end()
		}
		row, err := s.part.Next(ctx)
		switch {
		case err == nil && row != nil:
			return s.emit(row)
		case err == nil:
			s.closePart()
		case errors.Is(err, ErrPaused):
			if err := s.pause(ctx); err != nil {
				return nil, err
			}
		default:
			return nil, err
		}
	}
}

func (s *share) claim() bool {
	r, ok := s.scan.claim()
	if !ok {
		return false
	}
	o := s.scan.options
	o.Lower, o.Upper = r.lower, r.upper
	o.Backward, o.Tailable = false, false
	s.part = NewCollScan(s.env, o)
	s.env.SetLimit(s.env.works + shareInterval)
	return true
}

// pause looks at what the others do.
func (s *share) pause(ctx context.Context) error {
	s.env.SetLimit(s.env.works + shareInterval)
	if err := interrupted(ctx); err != nil {
		return err
	}
	if s.scan.failed.Load() {
		return errScanFailed
	}
	if s.scan.wanted.Load() <= 0 {
		if s.env.works >= s.scan.after && s.scan.procs.busy.Load() < s.scan.procs.total {
			s.scan.recruit(ctx)
		}
		return nil
	}
	rest, err := s.part.split()
	if err == nil && rest.lower != nil {
		s.scan.offer(rest)
	}
	return err
}

// errScanFailed ends workers after another's error, which is the one that is reported.
var errScanFailed = errors.New("exec: another worker of the scan failed")

func (s *share) closePart() {
	if s.part == nil {
		return
	}
	s.part.Close()
	s.scan.release(s.part.Stats())
	s.part = nil
}

// Close implements Node.
func (s *share) Close() { s.closePart() }

// split ends a forward scan near the middle of what is left of it and returns the rest. The rest's lower end is nil where
// the scan keeps everything. The scan must be paused.
func (s *CollScan) split() (rest keyRange, err error) {
	if s.it == nil || !s.started {
		return keyRange{}, nil
	}
	s.pos = append(s.pos[:0], s.it.Key()...)
	var middle []byte
	if s.it.Last() {
		middle = between(s.pos, s.it.Key())
	}
	if err := s.it.Err(); err != nil {
		return keyRange{}, err
	}
	s.closeIter()
	s.started = false
	if middle == nil {
		return keyRange{}, nil
	}
	rest = keyRange{middle, s.upper}
	s.upper = middle
	return rest, nil
}

// between returns a key about halfway from a to b in the first eight bytes in which they differ: it is greater than a and
// not much greater than b. It returns nil where there is none.
func between(a, b []byte) []byte {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	from, to := keyHead(a[n:]), keyHead(b[n:])
	if from >= to {
		return nil
	}
	return binary.BigEndian.AppendUint64(append([]byte(nil), a[:n]...), to-(to-from)/2)
}
