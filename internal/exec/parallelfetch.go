package exec

import (
	"context"
	"errors"
	"sync"

	"github.com/sheafdb/sheaf/internal/storage"
)

const (
	// fetchBatch is the number of record keys that a worker takes from the index scan at once.
	fetchBatch = 64
	// fetchAfter is the number of records that the first worker reads before it starts others.
	fetchAfter = 512
)

// parallelFetch reads the records that an index scan finds with several goroutines: each record
// once, in no particular order. The workers share the scan and use it in turn. Reading the records,
// filtering them and the caller's work run in parallel.
type parallelFetch struct {
	team
	fetch  *Fetch
	reader storage.Reader

	feed  sync.Mutex // guards the index scan and the counters of the fetch
	ended bool
}

// parallelFetchOf returns a parallel fetch that reads the same records as f and adds to f's
// counters. It returns nil if f has already begun, if f has a works budget, if its input is not an
// index scan, or if its reader cannot be shared by goroutines.
func parallelFetchOf(f *Fetch, procs *Processors) *parallelFetch {
	scan, ok := f.inputs[0].(*IndexScan)
	if !ok || scan.stats.Works > 0 || !f.env.isUnlimited() {
		return nil
	}
	reader, ok := f.env.Reader.(*Reader)
	if !ok || !reader.isShareable() {
		return nil
	}
	p := &parallelFetch{fetch: f, reader: reader}
	p.team = team{procs: procs, node: p.newPart}
	return p
}

// Run has the contract of parallelScan.Run.
func (p *parallelFetch) Run(ctx context.Context, work func(ctx context.Context, in Node) error) error {
	err := p.run(ctx, work)
	p.fetch.stats.IsEOF = err == nil
	return err
}

func (p *parallelFetch) newPart() Node {
	env := NewEnv(p.reader)
	return &fetchPart{base: base{env: env}, of: p, records: recordReader{env: env, coll: p.fetch.records.coll}}
}

// fetchPart is the node of one worker of a parallelFetch.
type fetchPart struct {
	base
	of      *parallelFetch
	records recordReader
	keys    []byte // record keys of the batch, concatenated
	ends    []int  // end offset of each key
	next    int
	read    uint64
	row     Row
}

// Next implements Node.
func (f *fetchPart) Next(ctx context.Context) (*Row, error) {
	for {
		f.records.release()
		if f.next == len(f.ends) {
			if more, err := f.take(ctx); err != nil || !more {
				return nil, err
			}
		}
		ok, err := f.load()
		if err != nil {
			return nil, err
		}
		if ok {
			return f.emit(&f.row)
		}
	}
}

// IsEOF implements Node.
func (f *fetchPart) IsEOF() bool { return f.stats.IsEOF }

// take adds the worker's counters to the fetch and gets the next batch from the index scan. It
// returns false at the end.
func (f *fetchPart) take(ctx context.Context) (bool, error) {
	p := f.of
	if p.failed.Load() {
		return false, errOtherFailed
	}
	if f.read >= fetchAfter {
		p.recruit(ctx)
	}
	p.feed.Lock()
	defer p.feed.Unlock()
	p.count(&f.stats)
	f.keys, f.ends, f.next = f.keys[:0], f.ends[:0], 0
	for len(f.ends) < fetchBatch && !p.ended {
		row, err := p.fetch.inputs[0].Next(ctx)
		if err != nil {
			return false, err
		}
		if row == nil {
			p.ended = true
			break
		}
		f.keys = append(f.keys, row.RecordKey...)
		f.ends = append(f.ends, len(f.keys))
	}
	return len(f.ends) > 0, nil
}

func (p *parallelFetch) count(part *Stats) {
	p.fetch.stats.DocsExamined += part.DocsExamined
	p.fetch.stats.Advanced += part.Advanced
	*part = Stats{}
}

// load reads the next record of the batch and reports whether it exists and matches.
func (f *fetchPart) load() (bool, error) {
	from := 0
	if f.next > 0 {
		from = f.ends[f.next-1]
	}
	key := f.keys[from:f.ends[f.next]]
	f.next++
	f.read++
	doc, err := f.records.read(key)
	if errors.Is(err, storage.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	f.row = Row{RecordKey: key, Doc: doc}
	f.stats.DocsExamined++
	if f.of.fetch.filter == nil {
		return true, nil
	}
	return f.of.fetch.filter.Match(doc)
}

// Close implements Node.
func (f *fetchPart) Close() { f.records.close() }

// Parallel reads the rows of a plan with several goroutines. It is a parallelScan or a
// parallelFetch.
type Parallel interface {
	// Run has the contract of parallelScan.Run.
	Run(ctx context.Context, work func(ctx context.Context, in Node) error) error
	// Workers returns the number of goroutines that took part. It is valid after Run.
	Workers() int
}

// Share returns a parallel reader of the rows of a plan that has not begun. It returns nil if the
// plan cannot run in parallel. After an error the plan cannot be used any more, unless it is a
// collection scan, which can still be read from its beginning.
func Share(root Node, procs *Processors) Parallel {
	switch n := root.(type) {
	case *CollScan:
		if p := parallelScanOf(n, procs); p != nil {
			return p
		}
	case *Fetch:
		if p := parallelFetchOf(n, procs); p != nil {
			return p
		}
	}
	return nil
}
