package pebble

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/lock"
)

// Open opens the store in a directory, and creates it if the directory is empty or does not exist.
// It returns storage.ErrLocked if the store is already open, in this process or in another one, and
// storage.ErrFormat if the directory holds other files.
func Open(dir string, options Options) (storage.Engine, error) {
	options = options.withDefaults()
	fs := options.FS
	if err := fs.MkdirAll(dir, privateDir); err != nil {
		return nil, fmt.Errorf("storage/pebble: %w", err)
	}
	dir, err := cleanPath(fs, dir)
	if err != nil {
		return nil, fmt.Errorf("storage/pebble: %w", err)
	}
	// This check comes before the lock file is created, so that a foreign directory stays
	// unchanged.
	if err = refuseForeign(fs, dir); err != nil {
		return nil, err
	}
	locked, err := lockDirectory(fs, dir)
	if err != nil {
		return nil, err
	}
	tighten(fs, dir, options.Logger)
	format, err := prepareDirectory(fs, dir)
	if err != nil {
		return nil, errors.Join(err, locked.Close())
	}
	e := &Engine{
		dir:      dir,
		options:  options,
		lockFile: locked,
		locks:    lock.NewTable(),
		large:    largeBatches{turn: make(chan struct{}, 1), small: options.isSmall(), clock: options.Clock},
		longKeys: longKeys{dir: dir, limit: max(minLongKeys, options.MemoryBudget/4), stale: true},
	}
	e.gaps.look = e.surveyed
	_, kept, blocks := options.memory()
	e.records = newRecords(options.Keep, kept)
	e.blocks.cache = pebble.NewCache(blocks)
	usage := func() (vfs.DiskUsage, error) { return fs.GetDiskUsage(dir) }
	e.guard = newGuard(options.Logger, options.Clock, usage, options.reserve())
	e.fs = &diskFS{
		FS: fs, guard: e.guard, dir: dir, stall: options.stall, clock: options.Clock,
		unsynced: &e.unsynced, order: &e.order,
	}
	if err = e.open(format); err != nil {
		e.blocks.cache.Unref()
		e.guard.close()
		return nil, errors.Join(err, e.fs.points.close(), e.fs.tableIDs.close(), locked.Close())
	}
	return e, nil
}

// open checks the files for damage and then opens Pebble.
func (e *Engine) open(format int) (err error) {
	defer contained(e.dir, &err)
	fs, log := e.options.FS, e.options.Logger
	in := &inspection{fs: fs, dir: e.dir, lock: e.lockFile, guard: e.guard, log: log}
	if err := in.inspect(format); err != nil {
		return err
	}
	logs := salvager{fs: fs, dir: e.dir, allowed: e.options.Salvage, log: log}
	points, err := logs.check(format, in.path)
	if err != nil {
		return err
	}
	e.fs.logEnds = logs.ends
	if err := in.repair(); err != nil {
		return err
	}
	if e.fs.points, err = openSyncPoints(fs, e.dir, points); err != nil {
		return err
	}
	if format < formatVersion {
		if err := writeFormat(fs, e.dir); err != nil {
			return err
		}
	}
	seals, _, _, err := readSeals(fs, e.dir)
	if err != nil {
		return fmt.Errorf("storage/pebble: %w", err)
	}
	if e.fs.seals, err = openSealer(fs, e.dir, seals); err != nil {
		return err
	}
	if e.fs.tableIDs, err = openTableIDs(fs, e.dir, in.bounds); err != nil {
		return err
	}
	e.pebbleOpts = e.pebbleOptions()
	e.pebbleOpts.Lock = e.lockFile.file
	e.fs.tables.bounds, e.fs.tables.options = in.bounds, e.pebbleOpts.MakeReaderOptions()
	db, err := pebble.Open(e.dir, e.pebbleOpts)
	if err != nil {
		return openError(e.dir, err)
	}
	if failure := e.guard.failure(); failure != nil {
		return errors.Join(failedOpen(e.dir, failure), e.closeFailed(db))
	}
	e.db = db
	e.background = newCompactor(db, e.options.Logger)
	e.guard.open.Store(true)
	return nil
}

// closeFailed closes Pebble on a store that was frozen while it was opened. The errors that Pebble
// reports then are ignored.
func (e *Engine) closeFailed(db *pebble.DB) (err error) {
	defer e.contain(&err)
	_ = db.Close()
	return nil
}

// cleanPath returns a unique name of a directory, which identifies it within this process.
func cleanPath(fs vfs.FS, dir string) (string, error) {
	if vfs.Root(fs) != vfs.Default {
		return fs.PathJoin(dir), nil
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

// refuseForeign returns an error if a directory is neither empty nor a store.
func refuseForeign(fs vfs.FS, dir string) error {
	if _, err := fs.Stat(fs.PathJoin(dir, lockFile)); err == nil {
		return nil
	}
	names, err := fs.List(dir)
	if err != nil {
		return fmt.Errorf("storage/pebble: %w", err)
	}
	if len(names) == 0 {
		return nil
	}
	if _, err = fs.Stat(fs.PathJoin(dir, formatFile)); err == nil {
		return nil
	}
	for _, name := range names {
		if name != "lost+found" && name != formatFile+".tmp" {
			_, err = prepareDirectory(fs, dir)
			return err
		}
	}
	return nil
}
