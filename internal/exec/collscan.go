package exec

import (
	"bytes"
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/keyspace"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

// CollScan is a collection scan (COLLSCAN): it reads the records in key order, forward or backward,
// and yields those that match the filter.
//
// If the collection is capped and the record at the saved position has been deleted, the scan fails
// with CappedPositionLost: later records may have been deleted too, and the scan would miss them
// unnoticed. A tailable scan returns nil at the end of the collection. After Save and with a new
// reader it continues with the records that were inserted since.
type CollScan struct {
	base
	options  CollScanOptions
	filter   table.Predicate
	lower    []byte
	upper    []byte
	backward bool
	capped   bool
	tailable bool

	it      storage.Iterator
	pos     []byte // key of the last record read, while no iterator is open
	started bool
	resting bool // a tailable scan has reached its end
	row     Row
	touched byte // see the function touch
}

// CollScanOptions configure a collection scan. Lower and Upper are record keys that bound the scan,
// [Lower, Upper). A nil bound is the corresponding end of the collection. A nil Filter matches
// every document.
type CollScanOptions struct {
	Coll         *table.Collection
	Filter       table.Predicate
	Lower, Upper []byte
	Backward     bool
	Tailable     bool
}

// NewCollScan returns a scan that is positioned before its first record.
func NewCollScan(env *Env, o CollScanOptions) *CollScan {
	s := &CollScan{base: base{env: env}, options: o, filter: o.Filter, backward: o.Backward}
	s.lower, s.upper = o.bounds()
	s.capped = o.Coll.Capped != nil
	s.tailable = o.Tailable && !o.Backward
	return s
}

// bounds returns the record keys that bound the scan.
func (o *CollScanOptions) bounds() (lower, upper []byte) {
	prefix := o.Coll.RecordPrefix()
	lower, upper = o.Lower, o.Upper
	if lower == nil {
		lower = prefix
	}
	if upper == nil {
		upper = keyspace.PrefixEnd(prefix)
	}
	return lower, upper
}

// Next implements Node. Its loop is the hottest of the package: for each record it counts one work,
// advances the iterator, and matches the filter.
func (s *CollScan) Next(ctx context.Context) (*Row, error) {
	if s.stats.IsEOF || s.resting {
		return nil, nil
	}
	if s.it == nil {
		if err := s.open(); err != nil {
			return nil, err
		}
	}
	for {
		if err := s.env.step(ctx); err != nil {
			return nil, err
		}
		s.stats.Works++
		if !s.move() {
			if err := s.it.Err(); err != nil {
				return nil, err
			}
			if s.tailable {
				return s.rest()
			}
			return s.end()
		}
		doc, err := s.it.Value()
		if err != nil {
			return nil, err
		}
		s.stats.DocsExamined++
		if len(doc) >= memory.LargeValue {
			if err := memory.Of(ctx).Value(int64(len(doc))); err != nil {
				return nil, err
			}
		}
		s.touched += touch(doc)
		if s.filter != nil {
			ok, err := s.filter.Match(bsonx.Doc(doc))
			if err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
		}
		s.row.RecordKey, s.row.Doc = s.it.Key(), doc
		return s.emit(&s.row)
	}
}

// IsEOF implements Node.
func (s *CollScan) IsEOF() bool { return s.stats.IsEOF }

// touch reads a byte from each of the first cache lines of a document, to load them into the cache
// together. A filter that walks from field to field would wait for one line after the other. Each
// of these loads also advances by one document per call, so the processor's prefetcher loads the
// lines of the next documents. The result has no meaning: the caller stores it so that the compiler
// keeps the loads.
func touch(doc []byte) byte {
	switch {
	case len(doc) > 192:
		return doc[0] + doc[64] + doc[128] + doc[192]
	case len(doc) > 128:
		return doc[0] + doc[64] + doc[128]
	case len(doc) > 0:
		return doc[0] + doc[len(doc)-1]
	default:
		return 0
	}
}

func (s *CollScan) open() error {
	upper := s.upper
	if s.options.Coll.Oplog {
		if end := visibleEnd(s.env.Reader, s.options.Coll); end != nil && bytes.Compare(end, upper) < 0 {
			upper = end
		}
	}
	it, err := s.env.Reader.NewIter(s.lower, upper)
	if err != nil {
		return err
	}
	s.it = it
	if s.capped && s.pos != nil {
		return s.find()
	}
	return nil
}

// find moves a new iterator to the record at which a scan of a capped collection stopped. It fails
// with CappedPositionLost if that record has been deleted.
func (s *CollScan) find() error {
	if s.it.SeekGE(s.pos) && bytes.Equal(s.it.Key(), s.pos) {
		s.started = true
		return nil
	}
	if err := s.it.Err(); err != nil {
		return err
	}
	sequence, err := table.Sequence(s.pos)
	if err != nil {
		return err
	}
	why := "position in capped collection being deleted"
	if s.tailable {
		why = "failure to restore tailable cursor position"
	}
	return mongoerr.New(mongoerr.CappedPositionLost,
		"CollectionScan died due to %s. Last seen record id: RecordId(%d)", why, sequence)
}

// rest suspends a tailable scan at the end of its reader's data. The position becomes the reader's
// last record; the scan continues after Save, with another reader.
func (s *CollScan) rest() (*Row, error) {
	if s.it.Last() {
		s.pos = append(s.pos[:0], s.it.Key()...)
	}
	if err := s.it.Err(); err != nil {
		return nil, err
	}
	s.closeIter()
	s.started, s.resting = false, true
	return nil, nil
}

// move goes to the next record. It seeks if the iterator was just opened.
func (s *CollScan) move() bool {
	if s.started {
		if s.backward {
			return s.it.Prev()
		}
		return s.it.Next()
	}
	s.started = true
	switch {
	case s.pos == nil && s.backward:
		return s.it.Last()
	case s.pos == nil:
		return s.it.First()
	case s.backward:
		return s.it.SeekLT(s.pos)
	default:
		return s.it.SeekGE(append(s.pos, 0))
	}
}

// Save implements Node.
func (s *CollScan) Save() {
	s.base.Save()
	s.resting = false
	if s.it == nil {
		return
	}
	if s.started && !s.stats.IsEOF {
		s.pos = append(s.pos[:0], s.it.Key()...)
	}
	s.closeIter()
	s.started = false
}

// Close implements Node.
func (s *CollScan) Close() { s.closeIter() }

func (s *CollScan) closeIter() {
	if s.it != nil {
		// Next has already reported the iterator's error.
		_ = s.it.Close()
		s.it = nil
	}
	s.row = Row{}
}
