package exec

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
)

const (
	// parallelAfter is the number of records that a scan reads before it starts other workers:
	// starting them costs as much as reading some hundred records.
	parallelAfter = 8192
	// shareInterval is the number of records that a worker reads between two checks whether other
	// workers need a range.
	shareInterval = 128
)

// parallelScan reads a collection with several goroutines: each record once, in no particular
// order. It serves plans whose last operator does not depend on the order and can merge partial
// results, such as a count or a $group.
//
// It begins as one scan. If the scan is long and processors are idle, it starts other workers,
// which have no range of keys at first. A worker that notices a waiting worker hands over the upper
// half of its own range. It halves the range by the bytes of the keys, so the halves may hold
// different numbers of records. That evens out, because a worker that finishes early waits for a
// new range.
type parallelScan struct {
	team
	reader  *Reader
	options CollScanOptions
	after   uint64
	instead *CollScan // the plan's scan, which gets the counters of the workers; may be nil

	// wanted is the number of workers that wait for a range, minus the number of ranges on offer.
	// Workers read it after every shareInterval records.
	wanted atomic.Int32

	changed sync.Cond
	offers  []keyRange // ranges that no worker reads yet
	readers int        // workers that have a range
	waiting int        // workers that wait for a range
	stats   Stats
}

// keyRange is a range [lower, upper) of record keys.
type keyRange struct{ lower, upper []byte }

// newParallelScan returns a scan of the records that o selects. The reader must already have its
// snapshot, which all workers share.
func newParallelScan(reader *Reader, o CollScanOptions, procs *Processors) *parallelScan {
	p := &parallelScan{reader: reader, options: o, after: parallelAfter}
	p.team = team{procs: procs, node: func() Node { return newShare(p) }, wake: p.changed.Broadcast}
	p.changed.L = &p.mu
	lower, upper := o.bounds()
	p.offers = []keyRange{{lower, upper}}
	return p
}

// parallelScanOf returns a parallel scan that reads the same records as scan and sets scan's
// counters. It returns nil if scan has already begun, if it has a works budget, is tailable or
// reads the oplog, or if its reader cannot be shared by goroutines.
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

// Run calls work with a node that yields records. It calls work again in other goroutines while
// there are idle processors and ranges to share. It returns after all calls have returned. An error
// of one call ends the others. If several calls fail, Run returns the first error in time, which is
// random.
//
// work must read its node to the end, unless it fails. It must not save or close the node: Run
// closes it.
func (p *parallelScan) Run(ctx context.Context, work func(ctx context.Context, in Node) error) error {
	err := p.run(ctx, work)
	if err == nil && p.instead != nil {
		p.instead.stats = p.stats
		p.instead.stats.IsEOF = true
	}
	return err
}

// offer makes a range available to a waiting worker.
func (p *parallelScan) offer(r keyRange) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.offers = append(p.offers, r)
	p.count()
	p.changed.Signal()
}

// claim waits for a range. It returns false when no worker has a range any more, or when the scan
// has failed.
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

// release records that a worker has read its range, and adds the worker's counters.
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

// isWaiting reports whether a worker waits for a range.
func (p *parallelScan) isWaiting() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting > 0
}

func (p *parallelScan) count() { p.wanted.Store(int32(p.waiting - len(p.offers))) }

// share is the node of one worker of a parallelScan. It scans one range after another.
type share struct {
	base
	scan *parallelScan
	part *CollScan // scan of the current range; nil between two ranges
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

// IsEOF implements Node.
func (s *share) IsEOF() bool { return s.stats.IsEOF }

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

// pause runs every shareInterval records. It checks whether another worker failed, hands over half
// of the range if a worker waits, and otherwise may start another worker.
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

// split ends a paused forward scan near the middle of its remaining range and returns the upper
// half. If the range cannot be divided, rest.lower is nil and the scan keeps its range.
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

// between returns a key about halfway between a and b. It considers the first eight bytes from the
// first difference on. The key is greater than a and not much greater than b. between returns nil
// if there is no such key.
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
