package pebble

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sheafdb/sheaf/internal/storage"
)

// logNumber returns the number in the name of a log.
func logNumber(name string) (number uint64, ok bool) {
	digits, ok := strings.CutSuffix(name, ".log")
	if !ok {
		return 0, false
	}
	number, err := strconv.ParseUint(digits, 10, 64)
	return number, err == nil
}

// firstLog returns the number of the first log whose data is not in the tables of a manifest. It
// returns 0 if there is no manifest.
func firstLog(fs vfs.FS, manifest string) (number uint64, err error) {
	if manifest == "" {
		return 0, nil
	}
	f, err := fs.Open(manifest)
	if err != nil {
		return 0, fmt.Errorf("storage/pebble: %w", err)
	}
	defer f.Close()
	records := record.NewReader(bufio.NewReader(f), 0)
	for {
		r, err := records.Next()
		var content []byte
		if err == nil {
			content, err = io.ReadAll(r)
		}
		if errors.Is(err, io.EOF) || record.IsInvalidRecord(err) {
			return number, nil
		}
		var e edit
		if err == nil {
			e, err = readEdit(content)
		}
		if err != nil {
			return 0, fmt.Errorf("%w in file %s: %w", storage.ErrCorrupt, manifest, err)
		}
		number = max(number, e.logNumber)
	}
}

// walLog is a log that the store needs.
type walLog struct {
	number uint64
	path   string
	// synced is the least offset up to which the log is known to be synced.
	synced int64
	end    logEnd
	// missing means that the file does not exist.
	missing bool
	size    int64
}

// damage returns an error if a log is damaged. Its synced part must be readable. If there is a
// newer log, the whole log is synced.
func (l *walLog) damage(newest bool) error {
	switch {
	case l.missing:
		return fmt.Errorf("%w: file %s is missing, whose first %d bytes were synced",
			storage.ErrCorrupt, l.path, l.synced)
	case l.end.readable < l.synced:
		return fmt.Errorf("%w in file %s: the record at byte %d is damaged, %d bytes were synced", storage.ErrCorrupt,
			l.path, l.end.readable, l.synced)
	case !newest && !l.end.closed && l.end.record != l.size:
		return fmt.Errorf("%w in file %s: the record at byte %d is damaged, there is a newer log", storage.ErrCorrupt,
			l.path, l.end.readable)
	}
	return nil
}

// neededLogs finds the logs that the store needs, in their order, and reads them.
func neededLogs(fs vfs.FS, dir, manifest string, points []syncPoint) ([]*walLog, error) {
	first, err := firstLog(fs, manifest)
	if err != nil {
		return nil, err
	}
	names, err := fs.List(dir)
	if err != nil {
		return nil, fmt.Errorf("storage/pebble: %w", err)
	}
	logs := map[uint64]*walLog{}
	// synced records that a log is synced up to an offset, even if its file is missing.
	synced := func(number uint64, offset int64) {
		if number < first || offset == 0 {
			return
		}
		l := logs[number]
		if l == nil {
			l = &walLog{number: number, path: fs.PathJoin(dir, fmt.Sprintf("%06d.log", number)), missing: true}
			logs[number] = l
		}
		l.synced = max(l.synced, offset)
	}
	marks := map[uint64]int64{}
	for _, name := range names {
		if n, ok := logNumber(name); ok && n >= first {
			logs[n] = &walLog{number: n, path: fs.PathJoin(dir, name)}
			if err := logs[n].read(fs, marks); err != nil {
				return nil, err
			}
		}
	}
	for _, p := range points {
		if n, ok := logNumber(p.name); ok {
			synced(n, p.offset)
		}
	}
	for n, offset := range marks {
		synced(n, offset)
	}
	return slices.SortedFunc(maps.Values(logs), func(a, b *walLog) int { return cmp.Compare(a.number, b.number) }), nil
}

// read finds the end of the log, and the marks in it.
func (l *walLog) read(fs vfs.FS, marks map[uint64]int64) error {
	f, err := fs.Open(l.path)
	if err == nil {
		var info vfs.FileInfo
		if info, err = f.Stat(); err == nil {
			l.size = info.Size()
			l.end, err = scanLog(f, uint32(l.number), marks)
		}
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("storage/pebble: reading %s: %w", l.path, err)
	}
	return nil
}

// verifyLogs looks for damage that Pebble would treat as the torn end of the newest log. It returns
// the index of the damaged log.
func verifyLogs(logs []*walLog) (int, error) {
	for i, l := range logs {
		if err := l.damage(i == len(logs)-1); err != nil {
			return i, err
		}
	}
	return len(logs), nil
}
