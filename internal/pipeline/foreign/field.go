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

// matchAny returns the $match of the documents that have one of some values at a path. No value counts as null, as
// MongoDB joins a missing field.
func matchAny(path string, values []bsonx.Value) bsonx.Value {
	var predicate bsonx.Doc
	isRegex := func(v bsonx.Value) bool { return v.Type == bsonx.TypeRegex }
	switch {
	case len(values) == 0:
		predicate = bsonx.NewDoc(path, bsonx.NewDoc("$eq", bsonx.Null))
	case len(values) == 1:
		predicate = bsonx.NewDoc(path, bsonx.NewDoc("$eq", values[0]))
	case slices.ContainsFunc(values, isRegex): // which $in would run
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

// foreignField finds the documents of another collection by the values of a field: through an index
// where there is one, else in a table of the whole collection that the second search without one
// makes, in memory or on the disk, else by scans.
type foreignField struct {
	db, name, path string
	before         []bsonx.Value // stages that stand before the search
	opts           parsing.Options
	env            *source.Env
	tables         *Tables // of several goroutines together; nil where the field has its own

	searches [2]int       // of scalars the second; see Collections.Indexed
	tabled   bool         // a table was asked for
	table    foreignTable // nil if there is none
	hits     hitSource
}

// foreignTable finds documents by values.
type foreignTable interface {
	// find appends the positions of the documents that have one of the values, in their order and each once.
	find(dst []int64, values []bsonx.Value) ([]int64, error)
	// doc returns the document at a position, in buf if it has to be copied.
	doc(at int64, buf []byte) (bsonx.Doc, error)
	// close lets go of files.
	Close()
}

// Tables is a table that the goroutines of one stage have together. The first that needs it makes it.
type Tables struct {
	once  sync.Once
	table foreignTable
	err   error
}

// Close lets go of the table.
func (t *Tables) Close() {
	if t.table != nil {
		t.table.Close()
	}
}

// Open returns the documents that have one of the values. It is to be closed before the next call.
func (f *foreignField) Open(ctx context.Context, values []bsonx.Value) (source.Source, error) {
	if err := interrupt.Cause(ctx); err != nil { // the values are of one document, of which there may be a million
		return nil, err
	}
	if f.wantsTable(values) {
		if err := f.makeTable(ctx); err != nil {
			return nil, err
		}
	}
	if f.table == nil || slices.ContainsFunc(values, func(v bsonx.Value) bool { return v.Type == bsonx.TypeUndefined }) {
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

// kept returns what the field's own table takes that is not counted.
func (f *foreignField) kept() int64 {
	if t, ok := f.table.(*memoryTable); ok {
		return t.held.Beyond(int64(t.bytes))
	}
	return 0
}

// Close lets go of the field's own table.
func (f *foreignField) Close() {
	if f.table != nil && f.tables == nil {
		f.table.Close()
	}
	f.table = nil
}

// each calls f for the documents that have one of the values. They are borrowed.
func (f *foreignField) each(ctx context.Context, values []bsonx.Value, fn func(bsonx.Doc) error) error {
	src, err := f.Open(ctx, values)
	if err != nil {
		return err
	}
	defer src.Close()
	return source.Drain(ctx, src, fn)
}

// hitSource yields some documents of a table.
type hitSource struct {
	source.InMemory
	table foreignTable
	hits  []int64
	next  int
	buf   []byte
}

// Next implements Source.
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

// wantsTable reports whether a search is the second one of its kind, and no index answers it.
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

// areScalars reports whether every index finds documents by the values: there is one, and none is
// null, a document, an array or a regular expression.
func areScalars(values []bsonx.Value) bool {
	return len(values) > 0 && !slices.ContainsFunc(values, func(v bsonx.Value) bool {
		switch v.Type {
		case bsonx.TypeNull, bsonx.TypeUndefined, bsonx.TypeMissing, bsonx.TypeDocument, bsonx.TypeArray, bsonx.TypeRegex:
			return true
		default:
			return false
		}
	})
}

// mayTable reports whether a table finds what a search does, and an index does not find it faster.
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

// build reads the collection into a table: on the disk where it takes too much memory, nil where that is not allowed.
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
	t := &memoryTable{foreignKeys: foreignKeys{strings.Split(f.path, "."), isNull}, heads: map[uint64]int32{}, held: f.env.Hold()}
	limit := f.env.Limit()
	var first bsonx.Doc // that has no room in memory
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

// maxLookupCache bounds the bytes of results that one stage keeps for values that it sees again.
const maxLookupCache = 16 << 20

// After cacheTrial misses a cache is given up unless one in cacheWorth look-ups was a hit.
const (
	cacheTrial = 4096
	cacheWorth = 8
)

// resultCache keeps results by what they depend on.
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

// appendExactKey appends bytes that differ for values that are not the same bytes of the same type.
func appendExactKey(dst []byte, v bsonx.Value) []byte {
	dst = binary.LittleEndian.AppendUint32(append(dst, 1, byte(v.Type)), uint32(len(v.Data)))
	return append(dst, v.Data...)
}
