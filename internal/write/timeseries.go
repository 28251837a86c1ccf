package write

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/timeseries"
)

// series holds the measurements of an insert that have the same metadata and fall into the same
// window of time.
type series struct {
	start int64
	meta  bsonx.Value
	id    [12]byte // _id of the head bucket, for the first attempt
	docs  []bsonx.Doc
}

// seriesOf groups measurements into series. The series are in the order of their buckets, which is
// the order of taking their locks.
func seriesOf(o *timeseries.Options, docs []bsonx.Doc) ([]*series, error) {
	var all []*series
	byID := map[[12]byte][]*series{}
	for _, doc := range docs {
		millis, err := o.CheckTime(doc)
		if err != nil {
			return nil, err
		}
		start, meta := o.WindowStart(millis), o.MetaOf(doc)
		id := timeseries.ID(start, meta, 0)
		var own *series
		for _, s := range byID[id] {
			if s.start == start && s.meta.Identical(meta) {
				own = s
			}
		}
		if own == nil {
			own = &series{start: start, meta: meta, id: id}
			byID[id] = append(byID[id], own)
			all = append(all, own)
		}
		own.docs = append(own.docs, doc)
	}
	slices.SortFunc(all, func(a, b *series) int { return bytes.Compare(a.id[:], b.id[:]) })
	return all, nil
}

// bucketWriter adds measurements to the buckets of a collection.
type bucketWriter struct {
	w       *table.Writer
	opts    *timeseries.Options
	builder *timeseries.Builder

	head, body []byte // buffers for documents
	key        []byte
}

var bucketWriters = sync.Pool{New: func() any {
	return &bucketWriter{builder: timeseries.NewBuilder(&timeseries.Options{})}
}}

// insertMeasurements adds documents to the time-series collection whose buckets the writer changes.
func insertMeasurements(ctx context.Context, w *table.Writer, docs []bsonx.Doc) error {
	o := w.Collection().Timeseries
	all, err := seriesOf(o, docs)
	if err != nil {
		return err
	}
	b := bucketWriters.Get().(*bucketWriter)
	b.w, b.opts = w, o
	defer func() {
		b.w = nil
		b.builder.Reset(o)
		bucketWriters.Put(b)
	}()
	for _, s := range all {
		if err := b.add(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// add adds measurements to the head bucket of their window. If the head is full, it moves them and
// the measurements of the head into bodies.
func (b *bucketWriter) add(ctx context.Context, s *series) error {
	id, head, err := b.lockHead(ctx, s)
	if err != nil {
		return err
	}
	bytes := len(head)
	for _, doc := range s.docs {
		bytes += len(doc)
	}
	if timeseries.Count(head)+len(s.docs) >= timeseries.HeadCount || bytes >= timeseries.HeadBytes {
		return b.addToBodies(ctx, s, id, head)
	}
	b.builder.Reset(b.opts)
	if head != nil {
		if err := b.builder.AddBucket(head); err != nil {
			return err
		}
	}
	for _, doc := range s.docs {
		b.builder.Add(doc)
	}
	b.builder.Sort()
	return b.put(ctx, id, s.meta, head, 0, b.builder.Len())
}

// lockHead locks the head bucket of a window. head is nil if the bucket does not exist.
func (b *bucketWriter) lockHead(ctx context.Context, s *series) (id [12]byte, head bsonx.Doc, err error) {
	for attempt := 0; ; attempt++ {
		id := s.id
		if attempt > 0 {
			id = timeseries.ID(s.start, s.meta, attempt)
		}
		b.key = b.w.Collection().RecordKey(b.key[:0], bsonx.ObjectID(id))
		head, err := b.w.Lock(ctx, b.key, b.head)
		if err != nil {
			return id, nil, err
		}
		if head == nil || b.opts.Holds(head, s.start, s.meta) {
			if head != nil {
				b.head = head
			}
			return id, head, nil
		}
	}
}

// addToBodies moves the measurements of a head, together with the new ones, into the last body of
// the window and into new bodies after it.
func (b *bucketWriter) addToBodies(ctx context.Context, s *series, id [12]byte, head bsonx.Doc) error {
	sequence, body, err := b.lastBody(ctx, s, id)
	if err != nil {
		return err
	}
	b.builder.Reset(b.opts)
	for _, bucket := range []bsonx.Doc{body, head} {
		if bucket == nil {
			continue
		}
		if err := b.builder.AddBucket(bucket); err != nil {
			return err
		}
	}
	for _, doc := range s.docs {
		b.builder.Add(doc)
	}
	b.builder.Sort()
	for start := 0; start < b.builder.Len(); {
		end := b.builder.Cut(start)
		if body == nil {
			sequence++
		}
		if err := b.put(ctx, timeseries.WithSequence(id, sequence), s.meta, body, start, end); err != nil {
			return err
		}
		start, body = end, nil
	}
	if head == nil {
		return nil
	}
	b.key = b.w.Collection().RecordKey(b.key[:0], bsonx.ObjectID(id))
	return b.w.Delete(b.key, head)
}

// lastBody locks the last body of a head's window. It returns the body's sequence, or 0 if the
// window has no body, and its document if measurements fit into it. The lock of the head keeps
// others from creating new bodies.
func (b *bucketWriter) lastBody(ctx context.Context, s *series, id [12]byte) (sequence int, body bsonx.Doc, err error) {
	c := b.w.Collection()
	lower := c.RecordKey(nil, bsonx.ObjectID(timeseries.WithSequence(id, 1)))
	upper := c.RecordKey(nil, bsonx.ObjectID(timeseries.WithSequence(id, timeseries.MaxSequence)))
	last, err := b.w.LastBefore(lower, upper)
	if err != nil || last == nil {
		return 0, nil, err
	}
	own := last.Lookup("_id").ObjectID()
	sequence = timeseries.SequenceOf(own)
	b.key = c.RecordKey(b.key[:0], bsonx.ObjectID(own))
	body, err = b.w.Lock(ctx, b.key, b.body)
	if err != nil || body == nil {
		return sequence, nil, err
	}
	b.body = body
	if timeseries.Count(body) >= timeseries.MaxCount || !b.opts.Holds(body, s.start, s.meta) {
		return sequence, nil, nil
	}
	return sequence, body, nil
}

// put stores a range of the builder's measurements as a bucket. old is the version that the bucket
// replaces, or nil for a new bucket.
func (b *bucketWriter) put(ctx context.Context, id [12]byte, meta bsonx.Value, old bsonx.Doc, start, end int) error {
	doc, err := b.builder.Doc(id, meta, start, end)
	if err != nil {
		return err
	}
	if old == nil {
		return b.w.Insert(ctx, doc)
	}
	b.key = b.w.Collection().RecordKey(b.key[:0], bsonx.ObjectID(id))
	return b.w.Update(ctx, b.key, old, doc, table.Replacement)
}

// MeasurementDelete is a delete in a time-series collection.
type MeasurementDelete struct {
	// Buckets finds the buckets that may have measurements to delete. Its filter applies to
	// buckets.
	Buckets Query
	// Filter is the query on measurements.
	Filter *filter.Filter
	// One says that at most one measurement is deleted.
	One bool
	// Deleted is called with each measurement before it is removed, while its bucket is locked. It
	// may be nil.
	Deleted func(doc bsonx.Doc) error
}

// DeleteMeasurements runs a delete statement in a time-series collection. It returns the number of
// removed measurements.
func (e *Executor) DeleteMeasurements(ctx context.Context, st *MeasurementDelete, opts Options) (n int64, err error) {
	if err := interrupt.Cause(ctx); err != nil {
		return 0, err
	}
	reader := exec.NewReader(opts.View)
	defer reader.Close()
	reader.Pin()
	if opts.View.Current(st.Buckets.Coll) != st.Buckets.Coll {
		return 0, table.ErrDropped // the caller looks the collection up again
	}
	targets, err := e.planner.Targets(ctx, st.Buckets.plan(), reader)
	if err != nil {
		return 0, err
	}
	defer targets.Close()
	for {
		row, err := targets.Next(ctx)
		if err != nil || row == nil {
			return n, err
		}
		key := slices.Clone(row.RecordKey)
		var removed int64
		err = e.retry(ctx, opts, func() error {
			var err error
			removed, err = e.deleteFrom(ctx, st, key, opts)
			return err
		})
		if err != nil {
			return n, err
		}
		n += removed
		if st.One && n > 0 {
			return n, nil
		}
	}
}

// deleteFrom deletes measurements from one bucket.
func (e *Executor) deleteFrom(ctx context.Context, st *MeasurementDelete, key []byte, opts Options) (int64, error) {
	w, err := opts.View.BeginWrite(st.Buckets.Coll)
	if err != nil {
		return 0, err
	}
	defer w.Close()
	bucket, err := w.Lock(ctx, key, nil)
	if err != nil || bucket == nil {
		return 0, err
	}
	drop, n, err := st.choose(bucket, w.Collection().Timeseries)
	if err != nil || n == 0 {
		return 0, err
	}
	if n == len(drop) {
		err = w.Delete(key, bucket)
	} else {
		err = rewrite(ctx, w, key, bucket, drop)
	}
	if err != nil {
		return 0, err
	}
	return int64(n), commit(w, opts)
}

// choose decides which measurements of a bucket to delete: drop[i] belongs to the i-th measurement,
// and n is their number.
func (st *MeasurementDelete) choose(bucket bsonx.Doc, o *timeseries.Options) (drop []bool, n int, err error) {
	u := timeseries.NewUnpacker(o, nil, nil)
	if err := u.Start(bucket); err != nil {
		return nil, 0, err
	}
	drop = make([]bool, u.Left())
	for i := range drop {
		doc := u.Next()
		ok, err := st.Filter.Match(doc)
		if err != nil {
			return nil, 0, err
		}
		if !ok || st.One && n > 0 {
			continue
		}
		if st.Deleted != nil {
			if err := st.Deleted(doc); err != nil {
				return nil, 0, err
			}
		}
		drop[i] = true
		n++
	}
	return drop, n, nil
}

// rewrite stores a bucket without the dropped measurements.
func rewrite(ctx context.Context, w *table.Writer, key []byte, bucket bsonx.Doc, drop []bool) error {
	b := timeseries.NewBuilder(w.Collection().Timeseries)
	if err := b.AddBucket(bucket); err != nil {
		return err
	}
	b.Remove(drop)
	b.Sort()
	doc, err := b.Doc(bucket.Lookup("_id").ObjectID(), bucket.Lookup("meta"), 0, b.Len())
	if err != nil {
		return err
	}
	return w.Update(ctx, key, bucket, doc, table.Replacement)
}
