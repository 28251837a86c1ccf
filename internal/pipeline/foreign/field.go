package foreign

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"sync"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// matchAny returns a $match stage that selects the documents with one of the values at path. An
// empty list counts as null, because MongoDB joins a missing field like null.
func matchAny(path string, values []bsonx.Value) bsonx.Value {
	var predicate bsonx.Doc
	isRegex := func(v bsonx.Value) bool { return v.Type == bsonx.TypeRegex }
	switch {
	case len(values) == 0:
		predicate = bsonx.NewDoc(path, bsonx.NewDoc("$eq", bsonx.Null))
	case len(values) == 1:
		predicate = bsonx.NewDoc(path, bsonx.NewDoc("$eq", values[0]))
	// $in would match regular expressions instead of comparing them.
	case slices.ContainsFunc(values, isRegex):
		either := make([]bsonx.Value, len(values))
		for i, v := range values {
			either[i] = bsonx.Document(bsonx.NewDoc(path, bsonx.NewDoc("$eq", v)))
		}
		predicate = bsonx.NewDoc("$or", either)
	default:
		predicate = bsonx.NewDoc(path, bsonx.NewDoc("$in", values))
	}
	return bsonx.Document(bsonx.NewDoc("$match", predicate))
}

// foreignField finds the documents of another collection that have given values in a field. It uses
// an index if possible. Without an index, the second search reads the whole collection into a
// table, in memory or on disk. If that is not possible, each search is a scan.
type foreignField struct {
	db, name, path string
	before         []bsonx.Value // stages to run before the search
	opts           parsing.Options
	env            *source.Env
	// tables contains the table that several goroutines share. It is nil if this foreignField
	// builds its own table.
	tables *Tables

	// searches contains two numbers: of the searches that are not for scalars only, and of the
	// searches for scalars only. See Collections.Indexed.
	searches [2]int
	tabled   bool         // the table was requested
	table    foreignTable // nil without a table
	hits     hitSource
}

// foreignTable finds the documents of a collection by the values of a field.
type foreignTable interface {
	// find appends to dst the positions of the documents that have one of the values, in ascending
	// order and without duplicates.
	find(dst []int64, values []bsonx.Value) ([]int64, error)
	// doc returns the document at a position. It may read the document into buf.
	doc(at int64, buf []byte) (bsonx.Doc, error)
	// Close releases the files and memory of the table.
	Close()
}

// Tables is a table that the goroutines of one run of a stage share. The first goroutine that needs
// the table builds it.
type Tables struct {
	once  sync.Once
	table foreignTable
	err   error
}

// Close closes the table if it was built.
func (t *Tables) Close() {
	if t.table != nil {
		t.table.Close()
	}
}

// Open returns a source of the documents that have one of the values. The caller must close it
// before the next call of Open.
func (f *foreignField) Open(ctx context.Context, values []bsonx.Value) (source.Source, error) {
	// The source returns one document for each call, so no other loop checks the context.
	if err := interrupt.Cause(ctx); err != nil {
		return nil, err
	}
	if f.wantsTable(values) {
		if err := f.makeTable(ctx); err != nil {
			return nil, err
		}
	}
	if f.table == nil || slices.ContainsFunc(values,
		func(v bsonx.Value) bool { return v.Type == bsonx.TypeUndefined }) {
		search := matchAny(f.path, values)
		if err := interrupt.Cause(ctx); err != nil {
			return nil, err
		}
		return f.env.Open(ctx, f.db, f.name, slices.Concat(f.before, []bsonx.Value{search}), f.opts.Vars)
	}
	var err error
	f.hits.table, f.hits.next = f.table, 0
	f.hits.hits, err = f.table.find(f.hits.hits[:0], values)
	return &f.hits, err
}

func (f *foreignField) makeTable(ctx context.Context) (err error) {
	if f.tables == nil {
		f.table, err = f.build(ctx)
		return err
	}
	f.tables.once.Do(func() { f.tables.table, f.tables.err = f.build(ctx) })
	f.table = f.tables.table
	return f.tables.err
}

// kept returns the bytes of the field's own table that are not counted in the memory budget.
func (f *foreignField) kept() int64 {
	if t, ok := f.table.(*memoryTable); ok {
		return t.held.Beyond(int64(t.bytes))
	}
	return 0
}

// Close closes the field's own table. A shared table stays open.
func (f *foreignField) Close() {
	if f.table != nil && f.tables == nil {
		f.table.Close()
	}
	f.table = nil
}

// each calls fn for the documents that have one of the values. The documents are borrowed.
func (f *foreignField) each(ctx context.Context, values []bsonx.Value, fn func(bsonx.Doc) error) error {
	src, err := f.Open(ctx, values)
	if err != nil {
		return err
	}
	defer src.Close()
	return source.Drain(ctx, src, fn)
}

// hitSource yields the documents of a table at the positions in hits.
type hitSource struct {
	source.InMemory
	table foreignTable
	hits  []int64
	next  int
	buf   []byte
}

// Next implements source.Source.
func (s *hitSource) Next(ctx context.Context) (bsonx.Doc, error) {
	if s.next%source.InterruptInterval == source.InterruptInterval-1 && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if s.next == len(s.hits) {
		return nil, nil
	}
	s.next++
	doc, err := s.table.doc(s.hits[s.next-1], s.buf)
	s.buf = doc
	return doc, err
}

// wantsTable reports whether the field must build a table for this search: it is the second search
// of its kind, and no index answers it.
func (f *foreignField) wantsTable(values []bsonx.Value) bool {
	if f.tabled {
		return false
	}
	kind := 0
	scalars := areScalars(values)
	if scalars {
		kind = 1
	}
	f.searches[kind]++
	f.tabled = f.searches[kind] == 2 && f.mayTable(scalars)
	return f.tabled
}

// areScalars reports whether every index can find documents by the values. That is false for an
// empty list, null, documents, arrays and regular expressions.
func areScalars(values []bsonx.Value) bool {
	return len(values) > 0 && !slices.ContainsFunc(values, func(v bsonx.Value) bool {
		switch v.Type {
		case bsonx.TypeNull, bsonx.TypeUndefined, bsonx.TypeMissing, bsonx.TypeDocument,
			bsonx.TypeArray, bsonx.TypeRegex:
			return true
		default:
			return false
		}
	})
}

// mayTable reports whether a table gives the same results as a search, and no index is faster.
func (f *foreignField) mayTable(scalars bool) bool {
	if f.opts.Collation != nil || f.env == nil || f.env.Collections == nil {
		return false
	}
	for part := range strings.SplitSeq(f.path, ".") {
		if _, numeric := bsonx.ArrayIndex(part); numeric {
			return false
		}
	}
	return !f.env.Collections.Indexed(f.db, f.name, f.path, scalars)
}

// build reads the collection into a table in memory, or on disk beyond the memory limit. It returns
// nil if the table does not fit and may not go to disk.
func (f *foreignField) build(ctx context.Context) (foreignTable, error) {
	isNull, err := filter.Parse(bsonx.NewDoc(f.path, bsonx.Null), filter.Options{})
	if err != nil {
		return nil, err
	}
	src, err := f.env.Open(ctx, f.db, f.name, f.before, f.opts.Vars)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	t := &memoryTable{
		foreignKeys: foreignKeys{strings.Split(f.path, "."), isNull},
		heads:       map[uint64]int32{}, held: f.env.Hold(),
	}
	limit := f.env.Limit()
	var first bsonx.Doc // a document that does not fit into memory
	for t.bytes <= limit && (t.bytes < source.MinSpill || t.held.Fits(int64(t.bytes))) {
		doc, err := src.Next(ctx)
		if err == nil && doc != nil && len(doc) >= source.LargeDocument && !t.held.Fits(int64(t.bytes+len(doc))) {
			first = doc
			break
		}
		if err == nil && doc != nil {
			err = t.add(doc.Clone())
		}
		if err != nil {
			t.Close()
			return nil, err
		}
		if doc == nil {
			return t, nil
		}
	}
	t.Close()
	if !f.env.AllowDiskUse {
		return nil, nil
	}
	return t.spill(ctx, first, src, f.env)
}

// maxLookupCache is the largest size in bytes of one stage's cache of results.
const maxLookupCache = 16 << 20

// After cacheTrial misses a cache is switched off, unless there was a hit for every cacheWorth
// misses.
const (
	cacheTrial = 4096
	cacheWorth = 8
)

// resultCache stores the results of a $lookup by the encoded values that they depend on.
type resultCache struct {
	limit        int
	off          bool
	bytes        int
	hits, misses int
	values       map[string]bsonx.Value
}

func (c *resultCache) get(key []byte) (bsonx.Value, bool) {
	v, ok := c.values[string(key)]
	if ok {
		c.hits++
	} else {
		c.misses++
	}
	return v, ok
}

func (c *resultCache) put(key []byte, v bsonx.Value) {
	size := len(key) + len(v.Data) + entryBytes
	if c.off || size > c.limit {
		return
	}
	if c.misses >= cacheTrial && c.hits < c.misses/cacheWorth {
		c.off, c.values = true, nil
		return
	}
	if c.values == nil || c.bytes+size > c.limit {
		c.values, c.bytes = map[string]bsonx.Value{}, 0
	}
	c.values[string(key)] = v.Clone()
	c.bytes += size
}

// appendExactKey appends an encoding of v that differs for values of different type or bytes, even
// if they compare equal.
func appendExactKey(dst []byte, v bsonx.Value) []byte {
	dst = binary.LittleEndian.AppendUint32(append(dst, 1, byte(v.Type)), uint32(len(v.Data)))
	return append(dst, v.Data...)
}
