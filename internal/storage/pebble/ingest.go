package pebble

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sheafdb/sheaf/internal/storage"
)

const (
	// ingestSmall is the number of bytes up to which pairs are committed as a batch, because a
	// table of its own would not pay off.
	ingestSmall = 256 << 10
	// ingestTable is the approximate size of the tables.
	ingestTable = 32 << 20
	// ingestCheck is the number of pairs after which the context is checked.
	ingestCheck = 256
	// ingestPrefix is the prefix of the names of temporary files.
	ingestPrefix = "sheaf-ingest-"
)

// ingestion is one call of Ingest.
type ingestion struct {
	engine *Engine
	ctx    context.Context
	next   func() (key, value []byte, err error)
	pairs  int
	first  []byte
	last   []byte
	paths  []string
	writer *sstable.Writer
	bytes  int
}

// Ingest implements storage.Engine.
func (e *Engine) Ingest(ctx context.Context, next func() (key, value []byte, err error)) (err error) {
	p, ok := e.pins.acquire()
	if !ok {
		return storage.ErrClosed
	}
	defer e.pins.release(p)
	in := &ingestion{engine: e, ctx: ctx, next: next}
	defer in.cleanUp()
	defer e.state.Add(1)
	defer e.contain(&err)
	batch := e.db.NewBatch()
	defer batch.Close()
	done, err := in.fillBatch(batch)
	if err != nil {
		return err
	}
	if done {
		return in.commit(batch)
	}
	if err := in.fillTables(batch); err != nil {
		return err
	}
	generation := e.gaps.commits.enter()
	defer e.gaps.commits.leave(generation)
	e.gaps.cutRange(in.first, in.last)
	if err := e.db.Ingest(ctx, in.paths); err != nil {
		return e.wrap(err)
	}
	return e.guard.failure()
}

// pair returns the next pair after checking its order, and io.EOF at the end.
func (in *ingestion) pair() (key, value []byte, err error) {
	if in.pairs%ingestCheck == 0 {
		if err := in.ctx.Err(); err != nil {
			return nil, nil, err
		}
	}
	key, value, err = in.next()
	if err != nil {
		return nil, nil, err
	}
	if in.pairs > 0 && bytes.Compare(in.last, key) >= 0 {
		return nil, nil, fmt.Errorf("%w: %x after %x", storage.ErrUnsorted, key, in.last)
	}
	if in.pairs == 0 {
		in.first = bytes.Clone(key)
	}
	in.pairs++
	in.last = append(in.last[:0], key...)
	return key, value, nil
}

// fillBatch collects pairs in a batch. It reports whether the source has ended.
func (in *ingestion) fillBatch(batch *pebble.Batch) (done bool, err error) {
	for batch.Len() < ingestSmall {
		key, value, err := in.pair()
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		if err := batch.Set(key, value, nil); err != nil {
			return false, in.engine.wrap(err)
		}
	}
	return false, nil
}

// commit commits a batch durably.
func (in *ingestion) commit(batch *pebble.Batch) error {
	e := in.engine
	if batch.Empty() {
		return nil
	}
	size := int64(batch.Len())
	if err := e.guard.admit(size, false); err != nil {
		return err
	}
	defer e.guard.done(size)
	generation := e.gaps.commits.enter()
	defer e.gaps.commits.leave(generation)
	e.gaps.cutRange(in.first, in.last)
	e.unflushed.countBatch(batch)
	e.guard.durable.Add(1)
	err := e.db.Apply(batch, pebble.Sync)
	e.guard.durable.Add(-1)
	if err != nil {
		return e.wrap(err)
	}
	return e.guard.failure()
}

// fillTables writes the pairs of the batch, and all further pairs, to tables.
func (in *ingestion) fillTables(batch *pebble.Batch) error {
	reader := batch.Reader()
	for {
		_, key, value, ok, err := reader.Next()
		if err != nil {
			return in.engine.wrap(err)
		}
		if !ok {
			break
		}
		if err := in.write(key, value); err != nil {
			return err
		}
	}
	for {
		key, value, err := in.pair()
		if errors.Is(err, io.EOF) {
			return in.finishTable()
		}
		if err != nil {
			return err
		}
		if err := in.write(key, value); err != nil {
			return err
		}
	}
}

// write adds a pair to the current table.
func (in *ingestion) write(key, value []byte) error {
	if in.bytes >= ingestTable {
		if err := in.finishTable(); err != nil {
			return err
		}
	}
	if in.writer == nil {
		if err := in.startTable(); err != nil {
			return err
		}
	}
	in.bytes += len(key) + len(value)
	return in.engine.wrap(in.writer.Set(key, value))
}

func (in *ingestion) startTable() error {
	e := in.engine
	if err := e.guard.admit(ingestTable, false); err != nil {
		return err
	}
	defer e.guard.done(ingestTable)
	path := e.fs.PathJoin(e.dir, fmt.Sprintf("%s%d.tmp", ingestPrefix, e.ingests.Add(1)))
	file, err := e.fs.Create(path, "sheaf-ingest")
	if err != nil {
		return e.wrap(err)
	}
	in.paths, in.bytes = append(in.paths, path), 0
	options := e.pebbleOpts.MakeWriterOptions(len(e.pebbleOpts.Levels)-1, e.db.TableFormat())
	in.writer = sstable.NewWriter(objstorageprovider.NewFileWritable(file), options)
	return nil
}

// finishTable ends the current table and makes it durable.
func (in *ingestion) finishTable() error {
	if in.writer == nil {
		return nil
	}
	err := in.writer.Close()
	in.writer = nil
	return in.engine.wrap(err)
}

// cleanUp removes the remaining temporary files. Pebble has linked the tables under its own names.
func (in *ingestion) cleanUp() {
	if in.writer != nil {
		_ = in.writer.Close()
	}
	for _, path := range in.paths {
		// A remaining file is removed when the store is opened again.
		_ = in.engine.fs.Remove(path)
	}
}

// removeLeftovers removes the temporary files of an ingestion that a crash interrupted.
func removeLeftovers(fs vfs.FS, dir string) error {
	names, err := fs.List(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasPrefix(name, ingestPrefix) {
			if err := fs.Remove(fs.PathJoin(dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}
