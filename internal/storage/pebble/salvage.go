package pebble

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sheafdb/sheaf/internal/storage"
)

// damagedSuffix is the suffix of the file that keeps the complete content of a log that was cut.
const damagedSuffix = ".damaged"

// adviceSalvage ends the messages about damage for which salvage can open the store.
const adviceSalvage = adviceRestore + ", or open it with --salvage (Options.Salvage), which keeps what was committed before the damage"

// salvager looks for damaged logs before a store is opened, and cuts them if that is allowed.
type salvager struct {
	fs      vfs.FS
	dir     string
	allowed bool
	log     *slog.Logger
	// ends are the ends of the logs that Pebble will replay, by file name.
	ends map[string]int64
}

// check looks for damaged logs, and cuts them if that is allowed. It stores in ends where each log
// ends, and returns how far each log is synced. Formats before syncPointsFormat have no sync
// points.
func (v *salvager) check(format int, manifest string) ([]syncPoint, error) {
	var known []syncPoint
	if format >= syncPointsFormat {
		var err error
		known, err = readSyncPoints(v.fs, v.dir)
		switch {
		case err != nil && (!v.allowed || !storage.IsCorruption(err)):
			return nil, fmt.Errorf("%w; %s", err, adviceSalvage)
		case err != nil:
			v.log.Warn("storage: salvage: opening without sync points", "error", err)
		}
	}
	logs, err := neededLogs(v.fs, v.dir, manifest, known)
	if err != nil {
		return nil, err
	}
	damaged, err := verifyLogs(logs)
	switch {
	case err != nil && !v.allowed:
		return nil, fmt.Errorf("%w; %s", err, adviceSalvage)
	case err != nil:
		v.log.Warn("storage: salvage: opening up to the damage", "error", err)
		if err := v.cut(logs, damaged); err != nil {
			return nil, fmt.Errorf("storage/pebble: salvage: %w", err)
		}
		logs = logs[:damaged+1]
	}
	var points []syncPoint
	v.ends = map[string]int64{}
	for _, l := range logs {
		if l.missing {
			continue
		}
		name := v.fs.PathBase(l.path)
		v.ends[name] = l.end.record
		if l.synced > 0 {
			points = append(points, syncPoint{name: name, offset: l.synced})
		}
	}
	return points, nil
}

// cut cuts a damaged log after its last readable record, and removes the newer logs. It keeps these
// files under other names. The newest log is removed first, so that after an interruption the
// damage is found again.
func (v *salvager) cut(logs []*walLog, damaged int) error {
	for i := len(logs) - 1; i > damaged; i-- {
		l := logs[i]
		if l.missing {
			continue
		}
		if err := v.fs.Rename(l.path, l.path+damagedSuffix); err != nil {
			return err
		}
		v.log.Warn("storage: salvage: a log after the damage was put aside", "file", l.path+damagedSuffix,
			"lostBytes", l.end.record)
	}
	l := logs[damaged]
	if l.missing {
		return syncDirectory(v.fs, v.dir)
	}
	if err := copyStart(v.fs, l.path, l.path+damagedSuffix, l.size); err != nil {
		return err
	}
	if err := copyStart(v.fs, l.path, l.path+tempSuffix, l.end.record); err != nil {
		return err
	}
	if err := v.fs.Rename(l.path+tempSuffix, l.path); err != nil {
		return err
	}
	l.synced = l.end.record
	v.log.Warn("storage: salvage: a damaged log was cut", "file", l.path, "keptBytes", l.end.record,
		"lostBytes", l.size-l.end.record, "original", l.path+damagedSuffix)
	return syncDirectory(v.fs, v.dir)
}

// copyStart copies the first size bytes of a file to another file and syncs it.
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
