package table

import (
	"bytes"

	"github.com/sheafdb/sheaf/internal/interrupt"
)

// maxEntryBatch is how many bytes of entries are kept until they are written.
const maxEntryBatch = 4 << 20

// entryBatch collects entries of an index that is built, to write them in order: the entries of a text index or of a wildcard go
// to all parts of it, and a search from the front for each of them is most of what a build would do.
type entryBatch struct {
	buf     []byte
	entries []builtEntry
}

// builtEntry is where an entry stands in the buffer.
type builtEntry struct{ key, value, end int }

func (b *entryBatch) add(key, value []byte) {
	e := builtEntry{key: len(b.buf)}
	b.buf = append(b.buf, key...)
	e.value = len(b.buf)
	b.buf = append(b.buf, value...)
	e.end = len(b.buf)
	b.entries = append(b.entries, e)
}

// size returns what the entries take in memory.
func (b *entryBatch) size() int { return cap(b.buf) + builtEntryBytes*cap(b.entries) }

// builtEntryBytes is the size of a builtEntry.
const builtEntryBytes = 24

func (b *entryBatch) isFull() bool { return len(b.buf) >= maxEntryBatch }

// write writes the entries and forgets them.
func (b *entryBatch) write(w *Writer) error {
	byKey := func(x, y builtEntry) int { return bytes.Compare(b.buf[x.key:x.value], b.buf[y.key:y.value]) }
	if err := interrupt.SortUnstable(b.entries, interrupt.Step, byKey, &w.work, &w.running); err != nil {
		return err
	}
	for _, e := range b.entries {
		if err := w.did(b.buf[e.key:e.value]); err != nil {
			return err
		}
		if err := w.txn.Put(b.buf[e.key:e.value], b.buf[e.value:e.end]); err != nil {
			return err
		}
	}
	b.buf, b.entries = b.buf[:0], b.entries[:0]
	return nil
}
