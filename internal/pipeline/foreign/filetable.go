package foreign

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	sorting "sort" // the name sort is free for the stage $sort

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/pipeline/document"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
	"github.com/sheafdb/sheaf/internal/spill"
)

// fileTable is a foreignTable on disk. It consists of a file of documents and an index file, whose
// entries are sorted by key. The first key of each block of the index file is kept in memory.
//
//	entry: 16 bytes of the SHA-256 of the value's group key,
//	       8 bytes of the document's position in the first file, big endian
//
// Several goroutines may read it.
type fileTable struct {
	foreignKeys
	docs, index spill.File
	firsts      [][]byte // the key of the first entry of each block
	entries     int64
}

const (
	tableKeyBytes   = 16
	tableEntryBytes = tableKeyBytes + 8
	// tableBlock is the number of entries that a search reads at once.
	tableBlock = 512
)

// nullKey is the key of the documents that a search for null finds. No value with this SHA-256
// prefix is known.
var nullKey = make([]byte, tableKeyBytes)

func tableKey(v bsonx.Value) []byte {
	sum := sha256.Sum256(document.AppendGroupKey(nil, v))
	return sum[:tableKeyBytes]
}

// spill moves the table to disk. It then adds the document next, which may be nil, and the rest of
// src.
func (t *memoryTable) spill(ctx context.Context, next bsonx.Doc, src source.Source,
	env *source.Env,
) (_ foreignTable, err error) {
	f := &fileTable{foreignKeys: t.foreignKeys}
	w := &tableWriter{table: f, runs: env.NewSpill(), limit: env.Limit()}
	defer w.runs.Close()
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	if err := f.docs.Create(env.TempDir); err != nil {
		return nil, err
	}
	for _, doc := range t.docs {
		if err := w.add(doc); err != nil {
			return nil, err
		}
	}
	t.docs, t.entries, t.heads, t.nulls = nil, nil, nil, nil
	if next != nil {
		if err := w.add(next); err != nil {
			return nil, err
		}
	}
	if err := source.Drain(ctx, src, w.add); err != nil {
		return nil, err
	}
	if err := f.index.Create(env.TempDir); err != nil {
		return nil, err
	}
	return f, w.finish()
}

// tableWriter builds a fileTable. It collects entries in memory, writes them in sorted runs, and
// merges the runs at the end.
type tableWriter struct {
	table   *fileTable
	runs    *spill.Runs
	limit   int
	pending []byte // encoded entries that are not written yet
}

func (w *tableWriter) add(doc bsonx.Doc) error {
	at := w.table.docs.Size()
	if err := w.table.docs.Append(doc); err != nil {
		return err
	}
	err := w.table.each(doc, func(v bsonx.Value) { w.enter(tableKey(v), at) }, func() { w.enter(nullKey, at) })
	if err == nil && len(w.pending) > w.limit {
		err = w.endRun()
	}
	return err
}

func (w *tableWriter) enter(key []byte, at int64) {
	w.pending = binary.BigEndian.AppendUint64(append(w.pending, key...), uint64(at))
}

func (w *tableWriter) endRun() error {
	sorting.Sort(tableEntries(w.pending))
	for entry := range slices.Chunk(w.pending, tableEntryBytes) {
		w.runs.Add(entry)
	}
	w.pending = w.pending[:0]
	return w.runs.EndRun()
}

func (w *tableWriter) finish() error {
	if err := w.endRun(); err != nil {
		return err
	}
	merged, err := w.runs.Merge()
	if err != nil {
		return err
	}
	f := w.table
	for merged.Next() {
		if f.entries%tableBlock == 0 {
			f.firsts = append(f.firsts, bytes.Clone(merged.Key()[:tableKeyBytes]))
		}
		f.entries++
		if err := f.index.Append(merged.Key()); err != nil {
			return err
		}
	}
	if merged.Err() != nil {
		return merged.Err()
	}
	if err := f.docs.Flush(); err != nil {
		return err
	}
	return f.index.Flush()
}

// tableEntries is a sequence of encoded entries. It implements sort.Interface.
type tableEntries []byte

func (e tableEntries) at(i int) []byte { return e[i*tableEntryBytes : (i+1)*tableEntryBytes] }

// Len implements sort.Interface.
func (e tableEntries) Len() int { return len(e) / tableEntryBytes }

// Less implements sort.Interface.
func (e tableEntries) Less(i, j int) bool { return bytes.Compare(e.at(i), e.at(j)) < 0 }

// Swap implements sort.Interface.
func (e tableEntries) Swap(i, j int) {
	var entry [tableEntryBytes]byte
	copy(entry[:], e.at(i))
	copy(e.at(i), e.at(j))
	copy(e.at(j), entry[:])
}

func (f *fileTable) find(dst []int64, values []bsonx.Value) ([]int64, error) {
	if len(values) == 0 {
		return f.search(dst, nullKey)
	}
	var err error
	for _, v := range values {
		key := nullKey
		if v.Type != bsonx.TypeNull {
			key = tableKey(v)
		}
		if dst, err = f.search(dst, key); err != nil {
			return nil, err
		}
	}
	slices.Sort(dst)
	return slices.Compact(dst), nil
}

// search appends to dst the positions of the documents that have the key.
func (f *fileTable) search(dst []int64, key []byte) ([]int64, error) {
	// The first entry with the key may be in the block before the first block that begins with the
	// key or a greater one.
	block, _ := slices.BinarySearchFunc(f.firsts, key, bytes.Compare)
	block = max(block-1, 0)
	buf := make([]byte, tableBlock*tableEntryBytes)
	for ; block < len(f.firsts) && bytes.Compare(f.firsts[block], key) <= 0; block++ {
		n, err := f.index.ReadAt(buf, int64(block)*int64(len(buf)))
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("reading a spilled table: %w", err)
		}
		entries := tableEntries(buf[:n])
		first := sorting.Search(entries.Len(),
			func(i int) bool { return bytes.Compare(entries.at(i)[:tableKeyBytes], key) >= 0 })
		for i := first; i < entries.Len(); i++ {
			if !bytes.Equal(entries.at(i)[:tableKeyBytes], key) {
				return dst, nil
			}
			dst = append(dst, int64(binary.BigEndian.Uint64(entries.at(i)[tableKeyBytes:])))
		}
	}
	return dst, nil
}

func (f *fileTable) doc(at int64, buf []byte) (bsonx.Doc, error) {
	var head [4]byte
	if _, err := f.docs.ReadAt(head[:], at); err != nil {
		return nil, fmt.Errorf("reading a spilled table: %w", err)
	}
	buf = slices.Grow(buf[:0], int(binary.LittleEndian.Uint32(head[:])))[:binary.LittleEndian.Uint32(head[:])]
	if _, err := f.docs.ReadAt(buf, at); err != nil {
		return nil, fmt.Errorf("reading a spilled table: %w", err)
	}
	return buf, nil
}

func (f *fileTable) Close() {
	f.docs.Close()
	f.index.Close()
}
