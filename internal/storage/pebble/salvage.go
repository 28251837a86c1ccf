package pebble

import (
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sheafdb/sheaf/internal/storage"
)

// damagedSuffix is added to the name of a log that was cut: the whole of it is kept under that name.
const damagedSuffix = ".damaged"

// adviceSalvage ends the messages about damage that salvage opens a store with.
const adviceSalvage = adviceRestore + ", or open it with --salvage (Options.Salvage), which keeps what was committed before the damage"

// checkLogs looks for damaged logs, and cuts them where the options say so. It notes where each log
// ends, and returns how far each is synced. Formats before syncPointsFormat have no sync points.
func (e *Engine) checkLogs(format int, manifest string) ([]syncPoint, error) {
	var known []syncPoint
	if format >= syncPointsFormat {
		var err error
		known, err = readSyncPoints(e.options.FS, e.dir)
		switch {
		case err != nil && (!e.options.Salvage || !storage.IsCorruption(err)):
			return nil, fmt.Errorf("%w; %s", err, adviceSalvage)
		case err != nil:
			e.options.Logger.Warn("storage: salvage: opening without sync points", "error", err)
		}
	}
	logs, err := neededLogs(e.options.FS, e.dir, manifest, known)
	if err != nil {
		return nil, err
	}
	damaged, err := verifyLogs(logs)
	switch {
	case err != nil && !e.options.Salvage:
		return nil, fmt.Errorf("%w; %s", err, adviceSalvage)
	case err != nil:
		e.options.Logger.Warn("storage: salvage: opening up to the damage", "error", err)
		if err := e.cutLogs(logs, damaged); err != nil {
			return nil, fmt.Errorf("storage/pebble: salvage: %w", err)
		}
		logs = logs[:damaged+1]
	}
	var points []syncPoint
	e.fs.logEnds = map[string]int64{}
	for _, l := range logs {
		if l.missing {
			continue
		}
		name := e.options.FS.PathBase(l.path)
		e.fs.logEnds[name] = l.end.record
		if l.synced > 0 {
			points = append(points, syncPoint{name: name, offset: l.synced})
		}
	}
	return points, nil
}

// cutLogs cuts a damaged log behind its last readable record, and removes the newer ones. The files
// are kept under other names. The newest one goes first, so that an interruption leaves damage to be
// found again.
func (e *Engine) cutLogs(logs []*walLog, damaged int) error {
	for i := len(logs) - 1; i > damaged; i-- {
		l := logs[i]
		if l.missing {
			continue
		}
		if err := e.options.FS.Rename(l.path, l.path+damagedSuffix); err != nil {
			return err
		}
		e.options.Logger.Warn("storage: salvage: a log after the damage was put aside", "file", l.path+damagedSuffix,
			"lostBytes", l.end.record)
	}
	l := logs[damaged]
	if l.missing {
		return syncDirectory(e.options.FS, e.dir)
	}
	if err := copyStart(e.options.FS, l.path, l.path+damagedSuffix, l.size); err != nil {
		return err
	}
	if err := copyStart(e.options.FS, l.path, l.path+tempSuffix, l.end.record); err != nil {
		return err
	}
	if err := e.options.FS.Rename(l.path+tempSuffix, l.path); err != nil {
		return err
	}
	l.synced = l.end.record
	e.options.Logger.Warn("storage: salvage: a damaged log was cut", "file", l.path, "keptBytes", l.end.record,
		"lostBytes", l.size-l.end.record, "original", l.path+damagedSuffix)
	return syncDirectory(e.options.FS, e.dir)
}

// copyStart copies the first bytes of a file to another one, which is synced.
func copyStart(fs vfs.FS, from, to string, size int64) error {
	in, err := fs.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := fs.Create(to, "sheaf-salvage")
	if err != nil {
		return err
	}
	if _, err = io.CopyN(out, in, size); err == nil {
		err = out.Sync()
	}
	if closeErr := out.Close(); err == nil {
		err = closeErr
	}
	return err
}
