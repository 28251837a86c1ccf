package pebble

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	iofs "io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sheafdb/sheaf/internal/storage"
)

// The file of sync points says how far each log is synced. An unreadable record before the sync
// point is damage. An unreadable record after it may result from a loss of power.
//
// Each durable commit also writes the newest sync point into the log, as a mark that survives a
// loss of power. The file is needed if the end of the log, or the whole log, is missing.
//
// The file has pages of text, each with a checksum. The first page is written and synced when the
// store is opened. The other pages are written in turn after each sync of a log, and are never
// synced. They survive the death of the process. A loss of power may leave an older page, which
// only has older sync points. If both pages are lost, the first page remains.
const (
	syncPointsFile = "SHEAF_SYNCED"
	// syncPage is the distance of the pages in bytes. The text of a page is usually shorter than a
	// disk sector, which a disk writes completely or not at all.
	syncPage = 4096
	// syncPages is the number of pages.
	syncPages = 3
)

// syncPoint says how far a file is synced.
type syncPoint struct {
	name   string
	offset int64
}

// syncPoints writes the file of sync points.
type syncPoints struct {
	mu     sync.Mutex
	file   vfs.File
	points []syncPoint
	// number counts the pages written. The readable page with the greatest number is the newest.
	number uint64
	page   []byte
	// log and offset are the newest sync point of a log.
	log    uint64
	offset int64
}

// create atomically replaces the file of sync points in a directory.
func (s *syncPoints) create(fs vfs.FS, dir string) error {
	content := make([]byte, syncPages*syncPage)
	copy(content, s.encode())
	return writeWhole(fs, dir, syncPointsFile, content)
}

// openSyncPoints replaces the file of sync points in a directory, and opens it.
func openSyncPoints(fs vfs.FS, dir string, points []syncPoint) (*syncPoints, error) {
	s := &syncPoints{points: points}
	if err := s.create(fs, dir); err != nil {
		return nil, err
	}
	var err error
	if s.file, err = fs.OpenReadWrite(fs.PathJoin(dir, syncPointsFile), "sheaf-format"); err != nil {
		return nil, fmt.Errorf("storage/pebble: %w", err)
	}
	return s, nil
}

// noteCopiedLogs creates the file of sync points for a copy of a store. All logs of the copy are
// synced.
func noteCopiedLogs(fs vfs.FS, dir string) error {
	var s syncPoints
	names, err := fs.List(dir)
	if err != nil {
		return fmt.Errorf("storage/pebble: %w", err)
	}
	for _, name := range names {
		if n, ok := logNumber(name); ok {
			l := walLog{number: n, path: fs.PathJoin(dir, name)}
			if err := l.read(fs, map[uint64]int64{}); err != nil {
				return err
			}
			s.points = append(s.points, syncPoint{name: name, offset: l.end.readable})
		}
	}
	return s.create(fs, dir)
}

// encode returns the next page of the file, with all sync points.
func (s *syncPoints) encode() []byte {
	s.number++
	p := appendLine(s.page[:0], "synced", s.number)
	// A page has room for a hundred files, and a store has about ten. Only the newest ones matter.
	for _, point := range s.points[max(0, len(s.points)-100):] {
		p = appendLine(p, point.name, uint64(point.offset))
	}
	s.page = appendLine(p, "end", uint64(crc32.Checksum(p, castagnoli)))
	return s.page
}

func appendLine(p []byte, name string, value uint64) []byte {
	p = append(append(p, name...), ' ')
	return append(strconv.AppendUint(p, value, 10), '\n')
}

// advance records that a log is synced up to an offset.
func (s *syncPoints) advance(name string, offset int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.points, func(p syncPoint) bool { return p.name == name })
	if i < 0 {
		i = len(s.points)
		s.points = append(s.points, syncPoint{name: name})
	}
	s.points[i].offset = offset
	s.log, _ = logNumber(name)
	s.offset = offset
	_, err := s.file.WriteAt(s.encode(), int64(1+s.number%(syncPages-1))*syncPage)
	return err
}

// appendMark appends the newest sync point of a log.
func (s *syncPoints) appendMark(dst []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return binary.AppendUvarint(binary.AppendUvarint(dst, s.log), uint64(s.offset))
}

// forget drops a log that is no longer needed. The next page omits it. Until then the manifest
// shows that the log is not needed.
func (s *syncPoints) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.points = slices.DeleteFunc(s.points, func(p syncPoint) bool { return p.name == name })
}

// close closes the file if it is open.
func (s *syncPoints) close() error {
	if s == nil || s.file == nil {
		return nil
	}
	return s.file.Close()
}

// readSyncPoints returns the sync points of the newest page, sorted by name.
func readSyncPoints(fs vfs.FS, dir string) ([]syncPoint, error) {
	path := fs.PathJoin(dir, syncPointsFile)
	content, err := readAll(fs, path, syncPages*syncPage)
	if errors.Is(err, iofs.ErrNotExist) {
		return nil, fmt.Errorf("%w: file %s is missing, which says how far the logs are synced", storage.ErrCorrupt, path)
	}
	if err != nil {
		return nil, fmt.Errorf("storage/pebble: %w", err)
	}
	if _, _, ok := decodeSyncPage(content[:min(syncPage, len(content))]); !ok {
		return nil, fmt.Errorf("%w in file %s: its first page is not readable", storage.ErrCorrupt, path)
	}
	return newestSyncPoints(content), nil
}

// newestSyncPoints returns the sync points of the newest readable page, sorted by name.
func newestSyncPoints(content []byte) (newest []syncPoint) {
	last := uint64(0)
	for page := range slices.Chunk(content, syncPage) {
		if number, points, ok := decodeSyncPage(page); ok && number > last {
			last, newest = number, points
		}
	}
	slices.SortFunc(newest, func(a, b syncPoint) int { return cmp.Compare(a.name, b.name) })
	return newest
}

// decodeSyncPage reads a page.
func decodeSyncPage(page []byte) (number uint64, points []syncPoint, ok bool) {
	// The bytes after the end are the rest of an older, longer page.
	end := bytes.Index(page, []byte("\nend "))
	if end < 0 {
		return 0, nil, false
	}
	body, tail := page[:end+1], page[end+1:]
	if !bytes.HasPrefix(tail, appendLine(nil, "end", uint64(crc32.Checksum(body, castagnoli)))) {
		return 0, nil, false
	}
	for i, line := range strings.Split(strings.TrimSuffix(string(body), "\n"), "\n") {
		name, value, _ := strings.Cut(line, " ")
		n, err := strconv.ParseUint(value, 10, 63)
		if err != nil {
			return 0, nil, false
		}
		if i == 0 {
			number = n
			continue
		}
		points = append(points, syncPoint{name: name, offset: int64(n)})
	}
	return number, points, true
}
