package exec

import (
	"context"
	"errors"
	"sync"

	"github.com/sheafdb/sheaf/internal/storage"
)

const (
	// fetchBatch is how many record keys a worker takes from the index at once.
	fetchBatch = 64
	// fetchAfter is how many records the first worker has read before others help.
	fetchAfter = 512
)

// parallelFetch reads by several goroutines the records that an index scan finds, each once and in no order. The scan goes
// from one worker to the next; what they do side by side is reading and judging the records, and what is done with them.
type parallelFetch struct {
	team
	fetch  *Fetch
	reader storage.Reader

	feed  sync.Mutex // of the scan, with the counters of the fetch
	ended bool
}

// parallelFetchOf returns the fetch that reads in parallel what f would, and gives it its counters; nil where f is not at its
// beginning, does not stand on an index scan alone, or where the reader is not one that goroutines can share.
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

// Run is parallelScan.Run.
func (p *parallelFetch) Run(ctx context.Context, work func(ctx context.Context, in Node) error) error {
	err := p.run(ctx, work)
	p.fetch.stats.IsEOF = err == nil
	return err
}

func (p *parallelFetch) newPart() Node {
	env := NewEnv(p.reader)
	return &fetchPart{base: base{env: env}, of: p, records: recordReader{env: env, coll: p.fetch.records.coll}}
}

// fetchPart is what one worker reads.
type fetchPart struct {
	base
	of      *parallelFetch
	records recordReader
	keys    []byte // of the batch, one behind the other
	ends    []int  // where they end
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

// take gets the next batch from the index scan, and tells the fetch what became of the last one.
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

// load reads the next record of the batch and reports whether it matches.
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

// Parallel is a parallelScan or a parallelFetch.
type Parallel interface {
	// Run is parallelScan.Run.
	Run(ctx context.Context, work func(ctx context.Context, in Node) error) error
	// Workers returns how many goroutines took part, after Run.
	Workers() int
}

// Share returns what reads in parallel the rows of a plan that has not begun; nil where that cannot be done. After an error
// the plan is of no use, unless it is a collection scan: that can be read from its beginning.
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
