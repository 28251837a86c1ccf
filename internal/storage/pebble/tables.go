package pebble

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sheafdb/sheaf/internal/storage"
)

// tableBounds are the first and the last key of a table according to the manifest. They are empty
// for a table of which only parts are used. Two tables may have the same bounds if their keys have
// no sequence numbers; see tableIDsFile.
type tableBounds struct{ smallest, largest pebble.InternalKey }

// tableNumber returns the number in the name of a table.
func tableNumber(name string) (number uint64, ok bool) {
	digits, ok := strings.CutSuffix(name, ".sst")
	if !ok {
		return 0, false
	}
	number, err := strconv.ParseUint(digits, 10, 64)
	return number, err == nil
}

// previewFS is a store without its logs, but with the markers that will be restored. Pebble opens
// it so that the content of the manifest can be read.
type previewFS struct {
	vfs.FS
	dir   string
	names []string
}

// List implements vfs.FS.
func (fs previewFS) List(dir string) ([]string, error) {
	if dir != fs.dir {
		return fs.FS.List(dir)
	}
	return fs.names, nil
}

// Unwrap implements vfs.FS.
func (fs previewFS) Unwrap() vfs.FS { return fs.FS }

// checkTables lets Pebble read the manifest, read-only, and checks that each table exists and has
// its size. Pebble may reject the file with its options. This file only repeats what the format
// defines, so it is ignored then, and written again when the store is opened.
func (in *inspection) checkTables() (err error) {
	defer contained(in.dir, &err)
	db, err := in.preview(true)
	if err != nil {
		var again error
		if db, again = in.preview(false); again != nil {
			return in.openError(again)
		}
		in.optionsDamaged = err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	levels, err := db.SSTables()
	if err != nil {
		return sortError(in.dir, err)
	}
	in.bounds = map[uint64]tableBounds{}
	for _, level := range levels {
		for _, t := range level {
			in.bounds[uint64(t.BackingSSTNum)] = tableBounds{t.Smallest, t.Largest}
			if t.Virtual {
				in.bounds[uint64(t.BackingSSTNum)] = tableBounds{}
			}
		}
	}
	return nil
}

// preview opens the store read-only and without its logs.
func (in *inspection) preview(withOptions bool) (*pebble.DB, error) {
	fs := previewFS{FS: in.fs, dir: in.dir, names: slices.Clone(in.markers)}
	for _, name := range in.names {
		if !strings.HasSuffix(name, ".log") && (withOptions || !isOptions(name)) {
			fs.names = append(fs.names, name)
		}
	}
	return pebble.Open(in.dir, &pebble.Options{
		FS: fs, Lock: in.lock.file, ReadOnly: true, Merger: counterMerger(), CacheSize: 1 << 10, MaxOpenFiles: 100,
		Logger:        &logger{logger: in.log, guard: in.guard},
		EventListener: &pebble.EventListener{DataCorruption: func(pebble.DataCorruptionInfo) {}},
	})
}

// isOptions reports whether a file holds Pebble's options.
func isOptions(name string) bool { return strings.HasPrefix(name, "OPTIONS-") }

// openError explains why Pebble does not open the store. If tables are missing or have a wrong
// size, Pebble's error has a line for each, which begins with level and number.
func (in *inspection) openError(err error) error {
	for line := range strings.Lines(err.Error()) {
		var level int
		var number uint64
		if n, _ := fmt.Sscanf(line, "L%d: %d:", &level, &number); n < 2 {
			continue
		}
		name := fmt.Sprintf("%06d.sst", number)
		info, statErr := in.fs.Stat(in.fs.PathJoin(in.dir, name))
		switch {
		case errors.Is(statErr, iofs.ErrNotExist):
			return in.damaged(name, "is missing; %s", adviceRestore)
		case statErr != nil:
			return fmt.Errorf("storage/pebble: %w", statErr)
		}
		return in.damaged(name, "has %d bytes, which is not what was written; %s", info.Size(), adviceRestore)
	}
	return openError(in.dir, err)
}

// tableChecks compares tables with the manifest when they are first opened. If two tables of the
// same size are exchanged, their checksums are valid, but each would answer for the other.
type tableChecks struct {
	mu     sync.Mutex
	bounds map[uint64]tableBounds
	// damaged has the errors of damaged tables. Pebble would open such a table again for each read,
	// and each time search for the flipped bit of a block, which takes about 30 ms.
	damaged map[uint64]error
	options sstable.ReaderOptions
}

// Open implements vfs.FS.
func (fs *diskFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	file, err := fs.FS.Open(name, opts...)
	if err != nil {
		return nil, err
	}
	if !strings.HasSuffix(name, ".sst") || filepath.Dir(name) != fs.dir {
		return fs.replayed(name, file), nil
	}
	if err := fs.checkTable(name); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// checkTable checks a table that existed when the store was opened, once.
func (fs *diskFS) checkTable(name string) error {
	number, ok := tableNumber(fs.PathBase(name))
	if !ok {
		return nil
	}
	c := &fs.tables
	c.mu.Lock()
	want, ok := c.bounds[number]
	err := c.damaged[number]
	c.mu.Unlock()
	if err != nil || !ok {
		return err
	}
	id, err := want.check(fs.FS, name, c.options, fs.tableIDs.of(number))
	if err == nil {
		fs.tableIDs.add(number, id)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		delete(c.bounds, number)
	case pebble.IsCorruptionError(err):
		if c.damaged == nil {
			c.damaged = map[uint64]error{}
		}
		c.damaged[number] = err
	}
	return err
}

// openTable opens a table for reading.
func openTable(fs vfs.FS, name string, options sstable.ReaderOptions) (*sstable.Reader, error) {
	file, err := fs.Open(name)
	if err != nil {
		return nil, err
	}
	readable, err := sstable.NewSimpleReadable(file)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	reader, err := sstable.NewReader(context.Background(), readable, options)
	if err != nil {
		return nil, fmt.Errorf("file %s: %w", name, errors.Join(err, readable.Close()))
	}
	return reader, nil
}

// check reads a table's id and bounds, compares them, and returns the id. want is 0 if the expected
// id is unknown.
func (b tableBounds) check(fs vfs.FS, name string, options sstable.ReaderOptions, want uint64) (id uint64, err error) {
	reader, err := openTable(fs, name, options)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	if id, err = readTableID(reader); err != nil {
		return 0, fmt.Errorf("file %s: %w", name, err)
	}
	if want != 0 && id != want {
		return 0, fmt.Errorf("%w: %w: file %s is not the table that was written with this name; %s",
			pebble.ErrCorruption, storage.ErrCorrupt, name, adviceRestore)
	}
	if b.smallest.UserKey == nil {
		return id, nil
	}
	first, last, err := readBounds(reader)
	if err != nil {
		return 0, fmt.Errorf("file %s: %w", name, err)
	}
	if !sameKey(b.smallest, first) || !sameKey(b.largest, last) {
		return 0, fmt.Errorf("%w: %w: file %s has other keys than the manifest says, as if another table had its name; %s",
			pebble.ErrCorruption, storage.ErrCorrupt, name, adviceRestore)
	}
	return id, nil
}

// readBounds returns a table's first and last key, copied.
func readBounds(r *sstable.Reader) (first, last pebble.InternalKey, err error) {
	it, err := r.NewIter(sstable.IterTransforms{}, nil, nil, sstable.AssertNoBlobHandles)
	if err != nil {
		return first, last, err
	}
	if kv := it.First(); kv != nil {
		first = kv.K.Clone()
	}
	if kv := it.Last(); kv != nil {
		last = kv.K.Clone()
	}
	if err := errors.Join(it.Error(), it.Close()); err != nil {
		return first, last, err
	}
	spans, err := r.NewRawRangeDelIter(context.Background(), sstable.FragmentIterTransforms{}, sstable.ReadEnv{})
	if err != nil || spans == nil {
		return first, last, err
	}
	defer spans.Close()
	if s, err := spans.First(); err != nil {
		return first, last, err
	} else if s != nil && before(s.SmallestKey(), first, first.UserKey == nil) {
		first = s.SmallestKey().Clone()
	}
	if s, err := spans.Last(); err != nil {
		return first, last, err
	} else if s != nil && before(last, s.LargestKey(), last.UserKey == nil) {
		last = s.LargestKey().Clone()
	}
	return first, last, nil
}

// before reports whether a comes before b. If missing is true, one of the keys does not exist, and
// before returns true.
func before(a, b pebble.InternalKey, missing bool) bool {
	if missing {
		return true
	}
	c := bytes.Compare(a.UserKey, b.UserKey)
	return c < 0 || c == 0 && a.Trailer > b.Trailer
}

// sameKey compares a key of the manifest with a key of a table. In the file of an ingested table,
// keys have no sequence number.
func sameKey(manifest, table pebble.InternalKey) bool {
	return bytes.Equal(manifest.UserKey, table.UserKey) && manifest.Kind() == table.Kind() &&
		(table.SeqNum() == 0 || manifest.SeqNum() == table.SeqNum())
}
