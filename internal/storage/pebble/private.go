package pebble

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"

	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	// privateDir and privateFile are the modes of directories and files of a store: for its owner
	// only.
	privateDir  = 0o700
	privateFile = 0o600
)

// privateFS is the operating system's file system, but gives only the owner access to new files.
// The process's umask may allow more, because it is set by the program that embeds the store.
type privateFS struct{ vfs.FS }

// Create implements vfs.FS.
func (fs privateFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return protect(name)(fs.FS.Create(name, category))
}

// OpenReadWrite implements vfs.FS.
func (fs privateFS) OpenReadWrite(name string, category vfs.DiskWriteCategory,
	opts ...vfs.OpenOption,
) (vfs.File, error) {
	return protect(name)(fs.FS.OpenReadWrite(name, category, opts...))
}

// protect removes the access rights of other users from a file that was just opened.
func protect(name string) func(vfs.File, error) (vfs.File, error) {
	return func(file vfs.File, err error) (vfs.File, error) {
		if err != nil {
			return nil, err
		}
		if err := os.Chmod(name, privateFile); err != nil {
			_ = file.Close()
			return nil, err
		}
		return file, nil
	}
}

// MkdirAll implements vfs.FS.
func (fs privateFS) MkdirAll(dir string, _ os.FileMode) error { return fs.FS.MkdirAll(dir, privateDir) }

// Lock implements vfs.FS.
func (fs privateFS) Lock(name string) (io.Closer, error) {
	lock, err := fs.FS.Lock(name)
	if err == nil {
		// A failure does not matter, because the lock file is empty.
		_ = os.Chmod(name, privateFile)
	}
	return lock, err
}

// Unwrap implements vfs.FS.
func (fs privateFS) Unwrap() vfs.FS { return fs.FS }

// tighten removes the access rights of other users from a store that an earlier version created, or
// that was created in an existing directory. If it may not change a file or directory, it logs a
// warning.
func tighten(fs vfs.FS, dir string, log *slog.Logger) {
	if vfs.Root(fs) != vfs.Default || runtime.GOOS == "windows" {
		return
	}
	paths := []string{dir}
	if entries, err := os.ReadDir(dir); err == nil {
		for _, entry := range entries {
			if entry.Type().IsRegular() {
				paths = append(paths, filepath.Join(dir, entry.Name()))
			}
		}
	}
	changed := 0
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err != nil || info.Mode().Perm()&^privateDir == 0 {
			continue
		}
		if err := os.Chmod(path, info.Mode().Perm()&privateDir); err != nil {
			log.Warn("storage: other users may access the files", "path", path, "mode",
				info.Mode().Perm().String(), "error", err)
			continue
		}
		changed++
	}
	if changed > 0 {
		log.Info("storage: other users no longer have access to the files", "directory", dir, "files", changed)
	}
}
