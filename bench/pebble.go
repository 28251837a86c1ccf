package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
)

// These constants are the first bytes of the keys of each workload's data.
const (
	keyDocs     = 'd'
	keyInserted = 'i'
	keyEnd      = 'z'
)

// pebbleSide is the storage library alone, without an index or a server. Its keys have 9 bytes. Its
// values are the same documents as on the other sides.
type pebbleSide struct{ db *pebble.DB }

func newPebbleSide(dir string) (*pebbleSide, error) {
	opts := &pebble.Options{
		FormatMajorVersion:          pebble.FormatNewest,
		CacheSize:                   64 << 20,
		MemTableSize:                64 << 20,
		MemTableStopWritesThreshold: 4,
		Logger:                      silent{},
	}
	for i := range opts.Levels {
		opts.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	db, err := pebble.Open(dir, opts)
	if err != nil {
		return nil, err
	}
	return &pebbleSide{db: db}, nil
}

// silent discards Pebble's log.
type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}
func (silent) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}

func (s *pebbleSide) name() string     { return sidePebble }
func (s *pebbleSide) local() bool      { return true }
func (s *pebbleSide) processes() []int { return nil }
func (s *pebbleSide) budget() int64    { return 0 }
func (s *pebbleSide) close() error     { return s.db.Close() }

func pebbleKey(dst []byte, kind byte, id int64) []byte {
	return binary.BigEndian.AppendUint64(append(dst[:0], kind), uint64(id))
}

func (s *pebbleSide) load(_ context.Context, d dataset) error {
	var key []byte
	for from := 0; from < d.size; from += insertBatch {
		batch := s.db.NewBatch()
		for i := from; i < min(from+insertBatch, d.size); i++ {
			doc, err := d.document(i)
			if err != nil {
				return err
			}
			key = pebbleKey(key, keyDocs, int64(i))
			if err := batch.Set(key, doc, nil); err != nil {
				return err
			}
		}
		if err := errors.Join(batch.Commit(pebble.NoSync), batch.Close()); err != nil {
			return err
		}
	}
	return s.db.Flush()
}

func (s *pebbleSide) prepare(_ context.Context, op operation) error {
	switch op {
	case opInsert, opInsertSynced, opInsertMany:
		return s.db.DeleteRange([]byte{keyInserted}, []byte{keyEnd}, pebble.Sync)
	default:
		return nil
	}
}

func (s *pebbleSide) do(op operation) func(context.Context, *worker) error {
	switch op {
	case opFindID:
		return s.get
	case opInsert:
		return s.insert(pebble.NoSync)
	case opInsertSynced:
		return s.insert(pebble.Sync)
	case opInsertMany:
		return s.insertMany
	case opScanCount:
		return s.scan
	default:
		return nil
	}
}

func (s *pebbleSide) get(_ context.Context, w *worker) error {
	w.key = pebbleKey(w.key, keyDocs, w.anyID())
	doc, closer, err := s.db.Get(w.key)
	if err != nil {
		return err
	}
	if len(doc) != documentSize {
		return fmt.Errorf("a document of %d bytes", len(doc))
	}
	return closer.Close()
}

func (s *pebbleSide) insert(sync *pebble.WriteOptions) func(context.Context, *worker) error {
	return func(_ context.Context, w *worker) error {
		doc := w.nextDocument()
		w.key = pebbleKey(w.key, keyInserted, int64(binary.LittleEndian.Uint64(doc[idOffset:])))
		return s.db.Set(w.key, doc, sync)
	}
}

func (s *pebbleSide) insertMany(_ context.Context, w *worker) error {
	batch := s.db.NewBatch()
	for range insertBatch {
		doc := w.nextDocument()
		w.key = pebbleKey(w.key, keyInserted, int64(binary.LittleEndian.Uint64(doc[idOffset:])))
		if err := batch.Set(w.key, doc, nil); err != nil {
			return err
		}
	}
	return errors.Join(batch.Commit(pebble.NoSync), batch.Close())
}

// scan reads every document without decoding it.
func (s *pebbleSide) scan(_ context.Context, w *worker) error {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: []byte{keyDocs}, UpperBound: []byte{keyDocs + 1}})
	if err != nil {
		return err
	}
	n := 0
	for ok := it.First(); ok; ok = it.Next() {
		if len(it.Value()) == documentSize {
			n++
		}
	}
	if err := it.Close(); err != nil {
		return err
	}
	if n != w.data.size {
		return fmt.Errorf("%d documents found", n)
	}
	return nil
}
