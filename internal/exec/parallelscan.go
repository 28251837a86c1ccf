package exec

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
)

const (
	// parallelAfter is how many records a scan has looked at before others help: to start them costs as much as some
	// hundred records.
	parallelAfter = 8192
	// shareInterval is how many records a worker looks at between two looks at the others.
	shareInterval = 128
)

// parallelScan reads a collection's records by several goroutines, each record once and in no order. It is for plans that
// end in something to which the order is nothing and that can be put together from parts: a count, a $group.
//
// It begins as one scan. When that proves long and processors are idle, other workers start without work. A worker that
// sees another one wait gives it the upper half of its own range: halves by the bytes of the keys, which need not be halves
// of the records. A wrong guess is mended by the next one: whoever is done early asks for more.
type parallelScan struct {
	team
	reader  *Reader
	options CollScanOptions
	after   uint64
	instead *CollScan // gets the counters, if not nil

	// wanted is how many workers wait for a range beyond those on offer; it is what a worker looks at between records.
	wanted atomic.Int32

	changed sync.Cond
	offers  []keyRange // ranges that nobody reads yet
	readers int        // workers that have a range
	waiting int        // workers that have none
	stats   Stats
}

// keyRange is a range [lower, upper) of record keys.
type keyRange struct{ lower, upper []byte }

// newParallelScan returns a scan of what options select. The reader must have its snapshot: all workers read from it.
func newParallelScan(reader *Reader, o CollScanOptions, procs *Processors) *parallelScan {
	p := &parallelScan{reader: reader, options: o, after: parallelAfter}
	p.team = team{procs: procs, node: func() Node { return newShare(p) }, wake: p.changed.Broadcast}
	p.changed.L = &p.mu
	lower, upper := o.bounds()
	p.offers = []keyRange{{lower, upper}}
	return p
}

// parallelScanOf returns the scan that reads in parallel what a scan would, and gives it its counters; nil where the scan is
// not at its beginning, where the number of records looked at matters, or where the reader is not one that goroutines can
// share.
func parallelScanOf(scan *CollScan, procs *Processors) *parallelScan {
	if scan.stats.Works > 0 || !scan.env.isUnlimited() || scan.tailable || scan.options.Coll.Oplog {
		return nil
	}
	reader, ok := scan.env.Reader.(*Reader)
	if !ok || !reader.isShareable() {
		return nil
	}
	p := newParallelScan(reader, scan.options, procs)
	p.instead = scan
	return p
}

// Run calls work with a node that yields records, and calls it again on other goroutines while there are idle processors and
// records left to share. It returns when all calls have returned. The first error ends the others; which of several errors
// is the first is chance.
//
// work must read its node to the end, unless it fails. A node is not to be saved, and is closed by Run.
func (p *parallelScan) Run(ctx context.Context, work func(ctx context.Context, in Node) error) error {
	err := p.run(ctx, work)
	if err == nil && p.instead != nil {
		p.instead.stats = p.stats
		p.instead.stats.IsEOF = true
	}
	return err
}

// offer gives a range to whoever waits.
func (p *parallelScan) offer(r keyRange) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.offers = append(p.offers, r)
	p.count()
	p.changed.Signal()
}

// claim waits for a range. It reports false at the end: nobody has a range any more, or the scan has failed.
func (p *parallelScan) claim() (r keyRange, ok bool) {
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
func (p *parallelScan) release(stats *Stats) {
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

// isWaiting reports whether a worker is without a range.
func (p *parallelScan) isWaiting() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting > 0
}

func (p *parallelScan) count() { p.wanted.Store(int32(p.waiting - len(p.offers))) }

// share is one worker's part of a parallelScan: scans of ranges, one after another.
type share struct {
	base
	scan *parallelScan
	part *CollScan // of the current range; nil between two
}

func newShare(p *parallelScan) *share {
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
		return errOtherFailed
	}
	if s.scan.wanted.Load() <= 0 {
		if s.env.works >= s.scan.after && !s.scan.isWaiting() {
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
// not much greater than b. It returns nil if there is none.
func between(a, b []byte) []byte {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	var ahead, bhead [8]byte
	copy(ahead[:], a[n:])
	copy(bhead[:], b[n:])
	from, to := binary.BigEndian.Uint64(ahead[:]), binary.BigEndian.Uint64(bhead[:])
	if from >= to {
		return nil
	}
	return binary.BigEndian.AppendUint64(append([]byte(nil), a[:n]...), to-(to-from)/2)
}
