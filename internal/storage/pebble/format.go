package pebble

import (
	"fmt"
	"io"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sheafdb/sheaf/internal/storage"
)

const (
	// formatFile names the file that makes a directory a store. It is one line: "sheaf <version>".
	formatFile = "SHEAF_FORMAT"
	// formatVersion is the version of the files that this program writes and reads. It grows with every change that an
	// older program would misread; numbers are never used again.
	formatVersion = 1
	// maxFormatFile bounds what is read of the format file.
	maxFormatFile = 256
)

// prepareDirectory makes sure that dir is a store of a known format, or empty, and then makes it a store.
func prepareDirectory(fs vfs.FS, dir string) error {
	names, err := fs.List(dir)
	if err != nil {
		return fmt.Errorf("storage/pebble: %w", err)
	}
	var strange string
	for _, name := range names {
		switch name {
		case formatFile:
			return checkFormat(fs, dir)
		case "LOCK", "lost+found", formatFile + ".tmp":
			// The first is ours already; the second is what a fresh volume has.
		default:
			strange = name
		}
	}
	if strange != "" {
		return fmt.Errorf("%w: directory %s is not empty (%q) and is not a Sheaf store, since it has no file %s; "+
			"name an empty or a new directory", storage.ErrFormat, dir, strange, formatFile)
	}
	return writeFormat(fs, dir)
}

// checkFormat reads the format file.
func checkFormat(fs vfs.FS, dir string) error {
	path := fs.PathJoin(dir, formatFile)
	f, err := fs.Open(path)
	if err != nil {
		return fmt.Errorf("storage/pebble: %w", err)
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxFormatFile))
	if err != nil {
		return fmt.Errorf("storage/pebble: reading %s: %w", path, err)
	}
	line := strings.TrimSpace(string(content))
	if line == fmt.Sprintf("sheaf %d", formatVersion) {
		return nil
	}
	var version int
	if n, _ := fmt.Sscanf(line, "sheaf %d", &version); n == 1 && version > formatVersion {
		return fmt.Errorf("%w: %s was written in format %d, this program knows format %d; use a newer Sheaf",
			storage.ErrFormat, dir, version, formatVersion)
	}
	return fmt.Errorf("%w: %s says %q, this program knows \"sheaf %d\"", storage.ErrFormat, path, line, formatVersion)
}

// writeFormat writes the format file; it is there whole or not at all.
func writeFormat(fs vfs.FS, dir string) error {
	path := fs.PathJoin(dir, formatFile)
	f, err := fs.Create(path+".tmp", "sheaf-format")
	if err == nil {
		_, err = fmt.Fprintf(f, "sheaf %d\n", formatVersion)
		if err == nil {
			err = f.Sync()
		}
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
	}
	if err == nil {
		err = fs.Rename(path+".tmp", path)
	}
	if err == nil {
		err = syncDirectory(fs, dir)
	}
	if err != nil {
		return fmt.Errorf("storage/pebble: writing %s: %w", path, err)
	}
	return nil
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
