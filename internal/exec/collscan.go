package exec

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

// CollScan reads a collection's records in the order of their keys, or backward, and passes those that match.
type CollScan struct {
	base
	filter   table.Predicate
	lower    []byte
	upper    []byte
	backward bool

	it      storage.Iterator
	pos     []byte // key of the last record looked at, while no iterator is open
	started bool
	row     Row
}

// CollScanOptions are the parts of a collection scan. Lower and Upper are record keys that bound the scan, [Lower,
// Upper); nil ones are the collection's ends. A nil Filter passes everything.
type CollScanOptions struct {
	Coll         *table.Collection
	Filter       table.Predicate
	Lower, Upper []byte
	Backward     bool
}

// NewCollScan returns a scan before its first record.
func NewCollScan(env *Env, o CollScanOptions) *CollScan {
	prefix := o.Coll.RecordPrefix()
	s := &CollScan{base: base{env: env}, filter: o.Filter, lower: o.Lower, upper: o.Upper, backward: o.Backward}
	if s.lower == nil {
		s.lower = prefix
	}
	if s.upper == nil {
		s.upper = table.PrefixEnd(prefix)
	}
	return s
}

// Next implements Node. Its loop is the engine's fastest: per record one step, one move, one match.
func (s *CollScan) Next(ctx context.Context) (*Row, error) {
	if s.stats.IsEOF {
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
			return s.end()
		}
		doc, err := s.it.Value()
		if err != nil {
			return nil, err
		}
		s.stats.DocsExamined++
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

func (s *CollScan) open() error {
	it, err := s.env.Reader.NewIter(s.lower, s.upper)
	if err != nil {
		return err
	}
	s.it = it
	return nil
}

// move goes to the next record: a plain move, or a seek where the iterator was just opened.
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
		// The iterator's error, if any, was reported by Next.
		_ = s.it.Close()
		s.it = nil
	}
	s.row = Row{}
}
