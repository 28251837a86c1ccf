package table

import (
	"bytes"
	"context"
	"errors"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/keyspace"
	"github.com/sheafdb/sheaf/internal/storage"
)

// cappedOptions reads the limits of a capped collection. The records of a capped collection are
// clustered by an insertion sequence. An insert holds the insert lock, which is the lock of the
// collection's record prefix, until the commit. Therefore records become visible in the order of
// their sequence: a reader that has seen a record will never find a new one before it.
func cappedOptions(options bsonx.Doc) *CappedOptions {
	size, _ := options.Lookup("size").AsInt64()
	limit, _ := options.Lookup("max").AsInt64()
	return &CappedOptions{Size: size, Max: limit}
}

// IsCapped reports whether the options of a collection make it capped.
func IsCapped(options bsonx.Doc) bool { return options.Lookup("capped").Truthy() }

// Exceeded reports whether a collection with c.Count documents of c.Bytes bytes exceeds the limits.
func (o *CappedOptions) Exceeded(c storage.Counter) bool {
	return c.Bytes > o.Size || o.Max > 0 && c.Count > o.Max
}

// Arrivals returns a channel that is closed after the next insert into a capped collection, or when
// the collection is dropped or renamed. A caller that calls Arrivals before it takes a snapshot is
// told of every insert that the snapshot does not have. count is an argument for Rest.
func (c *Collection) Arrivals() (next <-chan struct{}, count uint64) {
	if c.Oplog {
		return c.shared.order.Arrival(), 0
	}
	return c.shared.capped.arrivals.Wait()
}

// Rest limits how often waiters are woken. A waiter calls it at the end of a snapshot, with the
// count that Arrivals returned before the snapshot. If inserts come so fast that waking all waiters
// for each of them would use most of the processor time, Rest returns a channel that is closed a
// moment later. Otherwise it returns nil.
func (c *Collection) Rest(count uint64) <-chan struct{} {
	if c.Oplog {
		return nil
	}
	return c.shared.capped.arrivals.Rest(count)
}

// lockInserts takes the insert lock and reads the next sequence from storage if it is not known
// yet.
func (w *Writer) lockInserts(ctx context.Context) (*cappedState, error) {
	prefix := w.coll.RecordPrefix()
	if err := w.txn.Lock(ctx, prefix); err != nil {
		return nil, err
	}
	st := w.coll.shared.capped
	if st.next > 0 {
		return st, nil
	}
	it, err := w.txn.NewIter(prefix, keyspace.PrefixEnd(prefix))
	if err != nil {
		return nil, err
	}
	defer it.Close()
	last := int64(0)
	if it.Last() {
		if last, err = Sequence(it.Key()); err != nil {
			return nil, err
		}
	}
	if err := it.Err(); err != nil {
		return nil, err
	}
	st.next = last + 1
	return st, nil
}

// insertCapped adds a document after all others. It then evicts the oldest documents that exceed
// the limits.
func (w *Writer) insertCapped(ctx context.Context, doc bsonx.Doc) error {
	st, err := w.lockInserts(ctx)
	if err != nil {
		return err
	}
	w.record = w.coll.sequenceKey(w.record[:0], st.next)
	st.next++
	if err := w.setID(doc); err != nil {
		return err
	}
	for _, ix := range w.coll.maintained {
		if err := w.insertEntries(ctx, ix, doc, w.record[keyspace.PrefixLen:]); err != nil {
			return err
		}
	}
	w.delta.Count++
	w.delta.Bytes += int64(len(doc))
	w.arrived = true
	if err := w.txn.Put(w.record, doc); err != nil {
		return err
	}
	if err := w.logInsert(doc.Lookup("_id"), doc); err != nil {
		return err
	}
	_, err = w.evict(ctx, st, w.record, nil)
	return err
}

// evict removes the oldest records with keys below upper until the collection is within its limits,
// or until enough(n) is true for n removed records. enough may be nil. evict returns the number of
// removed records.
func (w *Writer) evict(ctx context.Context, st *cappedState, upper []byte, enough func(n int) bool) (n int, err error) {
	for {
		c, err := w.store.Count(w.coll)
		if err != nil || !w.coll.Capped.Exceeded(c.Plus(w.delta)) || enough != nil && enough(n) {
			return n, err
		}
		key, err := w.oldest(st, upper)
		if err != nil || key == nil {
			return n, err
		}
		old, err := w.Lock(ctx, key, w.oldDoc)
		if err != nil {
			return n, err
		}
		if old == nil {
			continue // another writer deleted it meanwhile
		}
		w.oldDoc = old
		if err := w.remove(key, old); err != nil {
			return n, err
		}
		if err := w.logDelete(old); err != nil {
			return n, err
		}
		n++
	}
}

// oldest returns the key of the oldest record below upper that it has not returned before, or nil
// if no such record exists. The iterator is kept until the end of the transaction: opening one for
// each insert would cost more than the insert.
func (w *Writer) oldest(st *cappedState, upper []byte) ([]byte, error) {
	ok := w.evictIter != nil && w.evictIter.Next()
	if !ok {
		// An iterator does not see records added after it was opened. The transaction's own records
		// come after all others.
		if err := w.openEvict(st); err != nil {
			return nil, err
		}
		ok = w.evictIter.First()
	}
	if !ok || bytes.Compare(w.evictIter.Key(), upper) >= 0 {
		err := w.evictIter.Err()
		return nil, errors.Join(err, w.closeEvict())
	}
	w.oldKey = append(w.oldKey[:0], w.evictIter.Key()...)
	sequence, err := Sequence(w.oldKey)
	if err != nil {
		return nil, err
	}
	if w.evictFrom == 0 {
		// The transaction has not evicted records yet, so sequence is the oldest committed record.
		// st.oldest stays valid if the transaction is rolled back.
		st.oldest = sequence
	}
	w.evictFrom = sequence + 1
	return w.oldKey, nil
}

func (w *Writer) openEvict(st *cappedState) error {
	if err := w.closeEvict(); err != nil {
		return err
	}
	from := max(w.evictFrom, st.oldest)
	it, err := w.txn.NewIter(w.coll.sequenceKey(nil, from), keyspace.PrefixEnd(w.coll.RecordPrefix()))
	w.evictIter = it
	return err
}

func (w *Writer) closeEvict() error {
	if w.evictIter == nil {
		return nil
	}
	it := w.evictIter
	w.evictIter = nil
	return it.Close()
}

// An insert evicts records in its own transaction if the excess is at most trimRecords records and
// trimBytes bytes. Trim first reduces a larger excess.
const (
	trimRecords = 1024
	trimBytes   = 16 << 20
)

// Trim evicts the records of a capped collection that is far beyond its limits, because the limits
// were lowered. It uses transactions of bounded size. It is called before an insert, which evicts
// the rest.
func (s *Store) Trim(ctx context.Context, c *Collection) error {
	for {
		counter, err := s.Count(c)
		if err != nil {
			return err
		}
		counter.Count -= trimRecords
		counter.Bytes -= trimBytes
		if !c.Capped.Exceeded(counter) {
			return nil
		}
		n, err := trimOnce(ctx, s, c)
		if err != nil || n == 0 {
			return err
		}
	}
}

func trimOnce(ctx context.Context, s *Store, c *Collection) (int, error) {
	w, err := s.BeginWrite(c)
	if err != nil {
		return 0, err
	}
	defer w.Close()
	st, err := w.lockInserts(ctx)
	if err != nil {
		return 0, err
	}
	// The newest record is kept, however large it is.
	newest := w.coll.sequenceKey(nil, st.next-1)
	n, err := w.evict(ctx, st, newest, func(n int) bool { return n >= trimRecords || w.Bytes() >= trimBytes })
	if err != nil {
		return 0, err
	}
	return n, w.Commit(storage.Buffered)
}
