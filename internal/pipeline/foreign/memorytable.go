package foreign

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/memory"
)

// foreignKeys determines the values by which a search with equality on path finds a document.
type foreignKeys struct {
	path   []string
	isNull *filter.Filter
}

// each calls value for each value of doc at the path, including array elements. It calls null if a
// search for null finds doc.
func (k *foreignKeys) each(doc bsonx.Doc, value func(bsonx.Value), null func()) error {
	isNull, err := k.isNull.Match(doc)
	if err != nil {
		return err
	}
	if isNull {
		null()
	}
	eachComparable(bsonx.Document(doc), k.path, value)
	return nil
}

func eachComparable(v bsonx.Value, path []string, f func(bsonx.Value)) {
	switch {
	case len(path) == 0:
		if v.IsMissing() {
			return
		}
		f(v)
		if v.Type == bsonx.TypeArray {
			for it := v.Doc().Iter(); it.Next(); {
				f(it.Value())
			}
		}
	case v.Type == bsonx.TypeDocument:
		eachComparable(v.Doc().Lookup(path[0]), path[1:], f)
	case v.Type == bsonx.TypeArray:
		for it := v.Doc().Iter(); it.Next(); {
			if it.Value().Type == bsonx.TypeDocument {
				eachComparable(it.Value(), path, f)
			}
		}
	}
}

// memoryTable is a foreignTable in memory: a hash table from values to documents.
type memoryTable struct {
	foreignKeys
	docs    []bsonx.Doc
	entries []foreignEntry
	heads   map[uint64]int32 // the number of the newest entry for a hash, counted from 1
	nulls   []int64          // the positions of the documents that a search for null finds
	bytes   int
	held    memory.Holding
}

type foreignEntry struct {
	value bsonx.Value
	doc   int32
	next  int32 // the number of the next entry with the same hash, counted from 1; 0 at the end
}

// entryBytes estimates the memory of an entry in bytes, with its part of the map.
const entryBytes = 64

// add adds a document. The table takes ownership of its bytes.
func (t *memoryTable) add(doc bsonx.Doc) error {
	at := int32(len(t.docs))
	t.docs = append(t.docs, doc)
	t.bytes += len(doc) + 24
	return t.each(doc, func(v bsonx.Value) { t.enter(at, v) }, func() { t.nulls = append(t.nulls, int64(at)) })
}

func (t *memoryTable) enter(at int32, v bsonx.Value) {
	hash := bsonx.Hash64(v)
	t.entries = append(t.entries, foreignEntry{v, at, t.heads[hash]})
	t.heads[hash] = int32(len(t.entries))
	t.bytes += entryBytes
}

func (t *memoryTable) doc(at int64, _ []byte) (bsonx.Doc, error) { return t.docs[at], nil }

func (t *memoryTable) Close() { t.held.Release() }

// find implements foreignTable.
func (t *memoryTable) find(dst []int64, values []bsonx.Value) ([]int64, error) {
	if len(values) == 0 {
		return append(dst, t.nulls...), nil
	}
	for _, v := range values {
		if v.Type == bsonx.TypeNull {
			dst = append(dst, t.nulls...)
			continue
		}
		for i := t.heads[bsonx.Hash64(v)]; i > 0; i = t.entries[i-1].next {
			if e := &t.entries[i-1]; bsonx.CompareValues(e.value, v) == 0 {
				dst = append(dst, int64(e.doc))
			}
		}
	}
	slices.Sort(dst)
	return slices.Compact(dst), nil
}
