package pipeline

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// openCollection opens a collection or view, or a pipeline that needs none where name is empty.
func (e *Env) openCollection(ctx context.Context, db, name string, stages []bsonx.Value, vars *expr.Vars) (Source, error) {
	if e == nil || e.Collections == nil {
		return nil, mongoerr.New(mongoerr.InternalError, "no collections can be read here")
	}
	return e.Collections.Open(ctx, db, name, stages, vars.WithFailures(nil))
}

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

// foreignField finds the documents of another collection by the values of a field: through an index where there is
// one, else in a table of the whole collection that the second search makes, if it fits into memory, else by scans.
type foreignField struct {
	db, name, path string
	before         []bsonx.Value // stages that stand before the search
	opts           Options
	env            *Env

	searches int
	table    *foreignTable // nil where there is none
	hits     hitSource
}

// open returns the documents that have one of the values. It is to be closed before the next call.
func (f *foreignField) open(ctx context.Context, values []bsonx.Value) (Source, error) {
	f.searches++
	if f.searches == 2 && f.mayTable() {
		if err := f.build(ctx); err != nil {
			return nil, err
		}
	}
	if f.table == nil || slices.ContainsFunc(values, func(v bsonx.Value) bool { return v.Type == bsonx.TypeUndefined }) {
		return f.env.openCollection(ctx, f.db, f.name, slices.Concat(f.before, []bsonx.Value{matchAny(f.path, values)}), f.opts.Vars)
	}
	f.hits = hitSource{docs: f.table.docs, hits: f.table.find(f.hits.hits[:0], values)}
	return &f.hits, nil
}

// each calls f for the documents that have one of the values. They are borrowed.
func (f *foreignField) each(ctx context.Context, values []bsonx.Value, fn func(bsonx.Doc) error) error {
	src, err := f.open(ctx, values)
	if err != nil {
		return err
	}
	defer src.Close()
	return Drain(ctx, src, fn)
}

// hitSource yields some documents of a table.
type hitSource struct {
	inMemory
	docs []bsonx.Doc
	hits []int32
	next int
}

// Next implements Source.
func (s *hitSource) Next(ctx context.Context) (bsonx.Doc, error) {
	if s.next%interruptInterval == interruptInterval-1 && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if s.next == len(s.hits) {
		return nil, nil
	}
	s.next++
	return s.docs[s.hits[s.next-1]], nil
}

// mayTable reports whether a table finds what a search does, and an index does not find it faster.
func (f *foreignField) mayTable() bool {
	if f.opts.Collation != nil || f.env == nil || f.env.Collections == nil {
		return false
	}
	for part := range strings.SplitSeq(f.path, ".") {
		if _, numeric := bsonx.ArrayIndex(part); numeric {
			return false
		}
	}
	return !f.env.Collections.Indexed(f.db, f.name, f.path)
}

// build reads the collection into a table, which it gives up where that takes too much memory.
func (f *foreignField) build(ctx context.Context) error {
	isNull, err := filter.Parse(bsonx.NewDoc(f.path, bsonx.Null), filter.Options{})
	if err != nil {
		return err
	}
	src, err := f.env.openCollection(ctx, f.db, f.name, f.before, f.opts.Vars)
	if err != nil {
		return err
	}
	defer src.Close()
	t := &foreignTable{path: strings.Split(f.path, "."), isNull: isNull, heads: map[uint64]int32{}}
	limit := f.env.memoryLimit()
	for {
		doc, err := src.Next(ctx)
		if err != nil {
			return err
		}
		if doc == nil {
			f.table = t
			return nil
		}
		if err := t.add(doc); err != nil {
			return err
		}
		if t.bytes > limit {
			return nil
		}
	}
}

// foreignTable is a hash table from the values of a field to documents.
type foreignTable struct {
	path    []string
	isNull  *filter.Filter
	docs    []bsonx.Doc
	entries []foreignEntry
	heads   map[uint64]int32 // the newest entry of a hash, counted from 1
	nulls   []int32          // the documents that a search for null finds
	bytes   int
}

type foreignEntry struct {
	value bsonx.Value
	doc   int32
	next  int32 // the next entry of the hash, counted from 1; 0 at the end
}

// entryBytes is about what an entry takes, with its part of the map.
const entryBytes = 64

func (t *foreignTable) add(doc bsonx.Doc) error {
	doc = doc.Clone()
	at := int32(len(t.docs))
	t.docs = append(t.docs, doc)
	t.bytes += len(doc) + 24
	null, err := t.isNull.Match(doc)
	if err != nil {
		return err
	}
	if null {
		t.nulls = append(t.nulls, at)
	}
	t.index(at, bsonx.Document(doc), t.path)
	return nil
}

// index makes an entry for each value that an equality on the path is compared with.
func (t *foreignTable) index(at int32, v bsonx.Value, path []string) {
	switch {
	case len(path) == 0:
		if v.IsMissing() {
			return
		}
		t.enter(at, v)
		if v.Type == bsonx.TypeArray {
			for it := v.Doc().Iter(); it.Next(); {
				t.enter(at, it.Value())
			}
		}
	case v.Type == bsonx.TypeDocument:
		t.index(at, v.Doc().Lookup(path[0]), path[1:])
	case v.Type == bsonx.TypeArray:
		for it := v.Doc().Iter(); it.Next(); {
			if it.Value().Type == bsonx.TypeDocument {
				t.index(at, it.Value(), path)
			}
		}
	}
}

func (t *foreignTable) enter(at int32, v bsonx.Value) {
	hash := bsonx.Hash64(v)
	t.entries = append(t.entries, foreignEntry{v, at, t.heads[hash]})
	t.heads[hash] = int32(len(t.entries))
	t.bytes += entryBytes
}

// find appends the positions of the documents that have one of the values, in their order and each once.
func (t *foreignTable) find(dst []int32, values []bsonx.Value) []int32 {
	if len(values) == 0 {
		return append(dst, t.nulls...)
	}
	for _, v := range values {
		if v.Type == bsonx.TypeNull {
			dst = append(dst, t.nulls...)
			continue
		}
		for i := t.heads[bsonx.Hash64(v)]; i > 0; i = t.entries[i-1].next {
			if e := &t.entries[i-1]; bsonx.CompareValues(e.value, v) == 0 {
				dst = append(dst, e.doc)
			}
		}
	}
	slices.Sort(dst)
	return slices.Compact(dst)
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

// isRepeatable reports whether stages answer the same when they are run again: they use no chance and no JavaScript.
func isRepeatable(stages bsonx.Value) bool {
	for _, name := range []string{"$rand", "$sample", "$function", "$accumulator", "$where"} {
		if bytes.Contains(stages.Data, []byte(name)) {
			return false
		}
	}
	return true
}
