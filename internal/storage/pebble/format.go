package pebble

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sheafdb/sheaf/internal/storage"
)

const (
	// formatFile names the file that makes a directory a store. It is one line: "sheaf <version>".
	formatFile = "SHEAF_FORMAT"
	// formatVersion is the version of the files that this program writes. It grows with every
	// change that an older program would misread. Numbers are never reused. Format 1 has no seal,
	// see sealFile. Format 2 has no sync points, see syncPointsFile.
	formatVersion    = syncPointsFormat
	sealedFormat     = 2
	syncPointsFormat = 3
	// oldestFormat is the oldest version that this program reads. Opening converts the store to
	// formatVersion.
	oldestFormat = 1
	// tempSuffix is the suffix of a file that is still being written.
	tempSuffix = ".tmp"
	// maxFormatFile is the number of bytes to read from the format file at most.
	maxFormatFile = 256
)

// initialFile reports whether a file may be in a directory that is not a store yet. Such files come
// with a fresh volume, or are created before the format file.
func initialFile(name string) bool {
	switch strings.TrimSuffix(name, tempSuffix) {
	case "LOCK", "lost+found", formatFile, sealFile, syncPointsFile, tableIDsFile:
		return true
	default:
		return false
	}
}

// prepareDirectory checks that dir is empty or a store of a known format, and returns the format.
// It makes an empty directory a store.
func prepareDirectory(fs vfs.FS, dir string) (format int, err error) {
	names, err := fs.List(dir)
	if err != nil {
		return 0, fmt.Errorf("storage/pebble: %w", err)
	}
	var strange string
	for _, name := range names {
		switch name {
		case formatFile:
			return checkFormat(fs, dir)
		default:
			if !initialFile(name) {
				strange = name
			}
		}
	}
	if strange != "" {
		if slices.Contains(names, sealFile) {
			return 0, fmt.Errorf("%w: file %s is missing; create it with the line \"sheaf %d\"",
				storage.ErrCorrupt, fs.PathJoin(dir, formatFile), formatVersion)
		}
		return 0, fmt.Errorf("%w: directory %s is not empty (%q) and is not a Sheaf store, since it has no file %s; "+
			"name an empty or a new directory", storage.ErrFormat, dir, strange, formatFile)
	}
	if err := refuseRemains(fs, dir, names); err != nil {
		return 0, err
	}
	if err := createSeal(fs, dir, seal{}); err != nil {
		return 0, err
	}
	if err := new(syncPoints).create(fs, dir); err != nil {
		return 0, err
	}
	return formatVersion, writeFormat(fs, dir)
}

// refuseRemains checks a directory without a manifest, tables and logs. It returns an error if
// another file shows that the directory once had them. A store that was killed during its creation
// has no such file. Its first file would be the file of the seals.
func refuseRemains(fs vfs.FS, dir string, names []string) error {
	seals, _, _, err := readSeals(fs, dir)
	if err != nil {
		return fmt.Errorf("storage/pebble: %w", err)
	}
	content, err := readAll(fs, fs.PathJoin(dir, syncPointsFile), syncPages*syncPage)
	if err != nil && !errors.Is(err, iofs.ErrNotExist) {
		return fmt.Errorf("storage/pebble: %w", err)
	}
	tables, err := readAll(fs, fs.PathJoin(dir, tableIDsFile), tableIDLine)
	if err != nil && !errors.Is(err, iofs.ErrNotExist) {
		return fmt.Errorf("storage/pebble: %w", err)
	}
	var remains string
	switch {
	case len(seals) > 0:
		remains = sealFile
	case len(newestSyncPoints(content)) > 0, len(content) > 0 && !slices.Contains(names, sealFile):
		remains = syncPointsFile
	case len(tables) > 0:
		remains = tableIDsFile
	default:
		return nil
	}
	return fmt.Errorf("%w: directory %s has the file %s of a store with data, but no manifest, tables and logs; %s, "+
		"or remove the file to begin with an empty store", storage.ErrCorrupt, dir, remains, adviceRestore)
}

// checkFormat reads the format file.
func checkFormat(fs vfs.FS, dir string) (format int, err error) {
	path := fs.PathJoin(dir, formatFile)
	content, err := readAll(fs, path, maxFormatFile)
	if err != nil {
		return 0, fmt.Errorf("storage/pebble: %w", err)
	}
	line := strings.TrimSpace(string(content))
	n, _ := fmt.Sscanf(line, "sheaf %d", &format)
	if n == 1 && format >= oldestFormat && format <= formatVersion && line == fmt.Sprintf("sheaf %d", format) {
		return format, nil
	}
	if n == 1 && format > formatVersion {
		return 0, fmt.Errorf("%w: %s says format %d, this program knows format %d; use a newer Sheaf, or the file is damaged",
			storage.ErrFormat, path, format, formatVersion)
	}
	return 0, fmt.Errorf("%w: %s says %q, this program knows \"sheaf %d\": the file is damaged",
		storage.ErrFormat, path, line, formatVersion)
}

// writeFormat writes the format file atomically.
func writeFormat(fs vfs.FS, dir string) error {
	return writeWhole(fs, dir, formatFile, fmt.Appendf(nil, "sheaf %d\n", formatVersion))
}

func syncDirectory(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if closeErr := d.Close(); err == nil {
		err = closeErr
	}
	return err
}
