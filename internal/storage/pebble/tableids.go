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

// Each table has an id among its properties, a random number, and a file beside the manifest says
// which table has which. Bounds and size do not tell tables apart whose keys have no sequence
// number: those that were ingested, and those of the lowest level. The file is a list of
//
//	| checksum (4) | number of the table (8) | id (8) |     20 bytes
//
// A line is added when a table was written, and it is not synced: a table without one, such as one
// of an older program, is checked by its bounds alone, and gets its line when it is first read. A
// number is used again only if the manifest never knew it. So opening the store writes the file
// anew with the lines of the manifest's tables.
const (
	tableIDsFile = "SHEAF_TABLES"
	tableIDLine  = 20
	// idProperty is the name of the property.
	idProperty = "sheaf.id"
)

// tableIDs are the ids of the tables. A nil one knows none.
type tableIDs struct {
	mu   sync.Mutex
	file vfs.File
	next int64 // where the next line goes
	ids  map[uint64]uint64
}

// decodeTableIDs returns the ids that the file has. Lines that are damaged are left out.
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

// openTableIDs writes the file of a directory anew, with the ids of the tables that the manifest
// knows, and opens it.
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

// of returns the id that a table must have; 0 if that is not known.
func (t *tableIDs) of(number uint64) uint64 {
	if t == nil {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ids[number]
}

// add notes the id of a table. A line that cannot be written is no error: it would only be missing.
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

// forget drops the id of a table that was removed.
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

// learnTable notes the id of a table that was just written.
func (fs *diskFS) learnTable(path string) {
	number, ok := tableNumber(fs.PathBase(path))
	if !ok || fs.tableIDs == nil || filepath.Dir(path) != fs.dir || fs.guard.failure() != nil {
		return
	}
	reader, err := openTable(fs.FS, path, fs.tables.options)
	if err != nil {
		return // whoever reads the table says what is wrong with it
	}
	defer func() { _ = reader.Close() }()
	if id, err := readTableID(reader); err == nil {
		fs.tableIDs.add(number, id)
	}
}

// readTableID returns the id among a table's properties; 0 if it has none.
func readTableID(r *sstable.Reader) (uint64, error) {
	properties, err := r.ReadPropertiesBlock(context.Background(), nil)
	if err != nil {
		return 0, err
	}
	text := properties.UserProperties[idProperty]
	if len(text) != 9 { // Pebble puts a byte before it
		return 0, nil
	}
	return binary.BigEndian.Uint64([]byte(text[1:])), nil
}

// idCollector gives a table its id. Pebble asks it about every key and block; it has nothing to
// say.
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
