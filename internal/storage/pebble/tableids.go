package pebble

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	iofs "io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Each table has an id among its properties, which is a random number. A file beside the manifest
// stores the id of each table. The id tells tables apart that have the same bounds and size. Such
// tables can exist if their keys have no sequence numbers, as in the lowest level. Each line of the
// file is:
//
//	| checksum (4) | number of the table (8) | id (8) |     20 bytes
//
// When a table is written, a line is added but not synced. A table without a line, such as a table
// of an older program, is checked only by its bounds, and gets its line when it is first read. A
// table number is reused only if the manifest never knew it. Therefore opening the store rewrites
// the file with the lines of the manifest's tables.
const (
	tableIDsFile = "SHEAF_TABLES"
	tableIDLine  = 20
	// idProperty is the name of the property.
	idProperty = "sheaf.id"
)

// tableIDs are the ids of the tables. A nil *tableIDs knows no ids.
type tableIDs struct {
	mu   sync.Mutex
	file vfs.File
	next int64 // offset of the next line
	ids  map[uint64]uint64
}

// decodeTableIDs returns the ids in the file, by table number. It skips damaged lines.
func decodeTableIDs(content []byte) map[uint64]uint64 {
	ids := map[uint64]uint64{}
	for ; len(content) >= tableIDLine; content = content[tableIDLine:] {
		line := content[:tableIDLine]
		if binary.BigEndian.Uint32(line) == crc32.Checksum(line[4:], castagnoli) {
			ids[binary.BigEndian.Uint64(line[4:])] = binary.BigEndian.Uint64(line[12:])
		}
	}
	return ids
}

// openTableIDs rewrites the file of the ids with the tables that the manifest knows, and opens it.
func openTableIDs(fs vfs.FS, dir string, known map[uint64]tableBounds) (*tableIDs, error) {
	path := fs.PathJoin(dir, tableIDsFile)
	old, err := readAll(fs, path, math.MaxInt64)
	missing := errors.Is(err, iofs.ErrNotExist)
	if err != nil && !missing {
		return nil, fmt.Errorf("storage/pebble: %w", err)
	}
	ids := decodeTableIDs(old)
	maps.DeleteFunc(ids, func(number, _ uint64) bool {
		_, ok := known[number]
		return !ok
	})
	t := &tableIDs{ids: ids}
	var content []byte
	for _, number := range slices.Sorted(maps.Keys(ids)) {
		content = append(content, encodeTableID(number, ids[number])...)
	}
	if missing || !bytes.Equal(old, content) {
		if err := writeWhole(fs, dir, tableIDsFile, content); err != nil {
			return nil, err
		}
	}
	t.next = int64(len(content))
	if t.file, err = fs.OpenReadWrite(path, "sheaf-format"); err != nil {
		return nil, fmt.Errorf("storage/pebble: %w", err)
	}
	return t, nil
}

func encodeTableID(number, id uint64) []byte {
	line := binary.BigEndian.AppendUint64(make([]byte, 4, tableIDLine), number)
	line = binary.BigEndian.AppendUint64(line, id)
	binary.BigEndian.PutUint32(line, crc32.Checksum(line[4:], castagnoli))
	return line
}

// of returns the id that a table must have, or 0 if it is unknown.
func (t *tableIDs) of(number uint64) uint64 {
	if t == nil {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ids[number]
}

// add records the id of a table. A failed write is not an error: the line would only be missing.
func (t *tableIDs) add(number, id uint64) {
	if t == nil || id == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ids[number] == id {
		return
	}
	t.ids[number] = id
	if t.file == nil {
		return
	}
	if _, err := t.file.WriteAt(encodeTableID(number, id), t.next); err == nil {
		t.next += tableIDLine
	}
}

// forget drops the id of a removed table.
func (t *tableIDs) forget(number uint64) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.ids, number)
}

func (t *tableIDs) close() error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	file := t.file
	t.file = nil
	if file == nil {
		return nil
	}
	return file.Close()
}

// learnTable records the id of a table that was just written.
func (fs *diskFS) learnTable(path string) {
	number, ok := tableNumber(fs.PathBase(path))
	if !ok || fs.tableIDs == nil || filepath.Dir(path) != fs.dir || fs.guard.failure() != nil {
		return
	}
	reader, err := openTable(fs.FS, path, fs.tables.options)
	if err != nil {
		return // reading the table will report what is wrong
	}
	defer func() { _ = reader.Close() }()
	if id, err := readTableID(reader); err == nil {
		fs.tableIDs.add(number, id)
	}
}

// readTableID returns the id from a table's properties, or 0 if it has no id.
func readTableID(r *sstable.Reader) (uint64, error) {
	properties, err := r.ReadPropertiesBlock(context.Background(), nil)
	if err != nil {
		return 0, err
	}
	text := properties.UserProperties[idProperty]
	if len(text) != 9 { // Pebble adds a byte at the front
		return 0, nil
	}
	return binary.BigEndian.Uint64([]byte(text[1:])), nil
}

// idCollector gives a table its id. Pebble calls it for every key and block, and it ignores these
// calls.
type idCollector struct{}

func newIDCollector() pebble.BlockPropertyCollector { return idCollector{} }

// Name implements pebble.BlockPropertyCollector.
func (idCollector) Name() string { return idProperty }

// AddPointKey implements pebble.BlockPropertyCollector.
func (idCollector) AddPointKey(pebble.InternalKey, []byte) error { return nil }

// AddRangeKeys implements pebble.BlockPropertyCollector.
func (idCollector) AddRangeKeys(sstable.Span) error { return nil }

// AddCollectedWithSuffixReplacement implements pebble.BlockPropertyCollector.
func (idCollector) AddCollectedWithSuffixReplacement(_, _, _ []byte) error { return nil }

// SupportsSuffixReplacement implements pebble.BlockPropertyCollector.
func (idCollector) SupportsSuffixReplacement() bool { return false }

// FinishDataBlock implements pebble.BlockPropertyCollector.
func (idCollector) FinishDataBlock(buf []byte) ([]byte, error) { return buf, nil }

// AddPrevDataBlockToIndexBlock implements pebble.BlockPropertyCollector.
func (idCollector) AddPrevDataBlockToIndexBlock() {}

// FinishIndexBlock implements pebble.BlockPropertyCollector.
func (idCollector) FinishIndexBlock(buf []byte) ([]byte, error) { return buf, nil }

// FinishTable implements pebble.BlockPropertyCollector.
func (idCollector) FinishTable(buf []byte) ([]byte, error) {
	return binary.BigEndian.AppendUint64(buf, max(1, rand.Uint64())), nil
}
