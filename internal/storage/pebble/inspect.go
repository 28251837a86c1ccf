package pebble

import (
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"math"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/atomicfs"

	"github.com/sheafdb/sheaf/internal/storage"
)

// inspection is the knowledge about a store's directory before anything in it changes. Pebble would
// treat missing files as if they had never existed, and remove files that the others do not
// mention. So lost files are detected here.
type inspection struct {
	fs    vfs.FS
	dir   string
	lock  *dirLock
	guard *guard
	log   *slog.Logger
	path  string // path of the manifest
	// names are the files of the directory. With markers it includes the markers that will be
	// restored.
	names, markers []string
	// manifest is the number of the current manifest, or 0 if the store is new.
	manifest uint64
	// seals are sorted, the newest first.
	seals []seal
	// proven means that a seal proves that the manifest is complete.
	proven bool
	// sealLost means that the file of the seals must be written again, with the seal current.
	sealLost bool
	current  seal
	// optionsDamaged describes the damage of the file with Pebble's options, or is nil.
	optionsDamaged error
	// bounds are the bounds of the tables according to the manifest.
	bounds map[uint64]tableBounds
}

// inspect looks for damage, and returns an error that names the file and gives advice. It writes
// nothing.
func (in *inspection) inspect(format int) (err error) {
	if in.names, err = in.fs.List(in.dir); err != nil {
		return fmt.Errorf("storage/pebble: %w", err)
	}
	var intact, blank bool
	if in.seals, intact, blank, err = readSeals(in.fs, in.dir); err != nil {
		return fmt.Errorf("storage/pebble: %w", err)
	}
	in.sealLost = !intact
	if err := in.findManifest(blank); err != nil || in.manifest == 0 {
		return err
	}
	if err := in.checkManifest(); err != nil {
		return err
	}
	if err := in.findFormatMarker(); err != nil {
		return err
	}
	if err := in.checkTables(); err != nil {
		return err
	}
	if !in.proven {
		return in.acceptUnproven(format)
	}
	return nil
}

// damaged returns an error about a file.
func (in *inspection) damaged(name, format string, args ...any) error {
	return fmt.Errorf("%w: file %s %s", storage.ErrCorrupt, in.fs.PathJoin(in.dir, name), fmt.Sprintf(format, args...))
}

// has reports whether there is a file whose name ends with suffix.
func (in *inspection) has(suffix string) bool {
	return slices.ContainsFunc(in.names, func(name string) bool { return strings.HasSuffix(name, suffix) })
}

// hasRecords reports whether there is a log that is not empty.
func (in *inspection) hasRecords() bool {
	return slices.ContainsFunc(in.names, func(name string) bool {
		if !strings.HasSuffix(name, ".log") {
			return false
		}
		info, err := in.fs.Stat(in.fs.PathJoin(in.dir, name))
		return err == nil && info.Size() > 0
	})
}

// findManifest finds the current manifest by its marker. The marker is an empty file, which is
// easily forgotten when someone copies a directory. If it is missing, the newest seal tells the
// number of the manifest.
func (in *inspection) findManifest(blank bool) error {
	name, err := in.marker("manifest")
	if err != nil {
		return err
	}
	switch {
	case name != "":
		if n, _ := fmt.Sscanf(name, "MANIFEST-%d", &in.manifest); n != 1 || in.manifest == 0 {
			return in.damaged("marker.manifest.*", "names %q, which is no manifest; %s", name, adviceRestore)
		}
	case len(in.seals) > 0:
		in.manifest = in.seals[0].manifest
		name = fmt.Sprintf("MANIFEST-%06d", in.manifest)
		in.markers = append(in.markers, "marker.manifest.000001."+name)
	case in.has(".sst") || in.has(".log"):
		return in.damaged("marker.manifest.*", "is missing, but there are tables or logs; %s", adviceRestore)
	default:
		in.sealLost = !blank
		return refuseRemains(in.fs, in.dir, in.names)
	}
	in.path = in.fs.PathJoin(in.dir, name)
	if !slices.Contains(in.names, name) {
		return in.damaged(name, "is missing; %s", adviceRestore)
	}
	return nil
}

// marker returns the value of one of Pebble's markers, or "" if it does not exist.
func (in *inspection) marker(name string) (string, error) {
	value, err := atomicfs.ReadMarker(in.fs, in.dir, name)
	if err != nil {
		return "", fmt.Errorf("%w in directory %s: %w; a file marker.* that Sheaf did not make must be removed",
			storage.ErrCorrupt, in.dir, err)
	}
	return value, nil
}

// findFormatMarker restores Pebble's marker of its format. A store that was killed during its
// creation may have no marker, but then it has no data: no table, and no log with a record.
func (in *inspection) findFormatMarker() error {
	value, err := in.marker("format-version")
	if err == nil && value == "" && (in.has(".sst") || in.hasRecords()) {
		in.markers = append(in.markers, "marker.format-version.000001."+formatMajorVersion.String())
	}
	return err
}

// checkManifest compares the manifest with its seal. Without a seal, it checks only the records of
// the manifest.
func (in *inspection) checkManifest() error {
	content, err := readAll(in.fs, in.path, math.MaxInt64)
	if err != nil {
		return fmt.Errorf("storage/pebble: %w", err)
	}
	name := in.fs.PathBase(in.path)
	end, damaged := wholeRecords(content)
	in.current = seal{
		sequence: 1, manifest: in.manifest, length: uint64(end),
		sum: crc32.Checksum(content[:end], castagnoli),
	}
	if len(in.seals) > 0 {
		in.current.sequence = in.seals[0].sequence + 1
	}
	for _, s := range in.seals {
		if s.manifest != in.manifest {
			continue
		}
		if uint64(len(content)) < s.length {
			return in.damaged(name, "was cut: it has %d bytes, %d were synced; %s",
				len(content), s.length, adviceRestore)
		}
		if crc32.Checksum(content[:s.length], castagnoli) != s.sum {
			return in.damaged(name, "is damaged within its first %d bytes; %s", s.length, adviceRestore)
		}
		in.proven = true
		return nil
	}
	if damaged {
		return in.damaged(name, "is damaged: the record at byte %d, there are others after it; %s", end, adviceRestore)
	}
	if end == 0 {
		return in.damaged(name, "has no records; %s", adviceRestore)
	}
	return nil
}

// acceptUnproven decides about a store whose manifest has no matching seal: the file of the seals
// was lost, or the store has an older format without seals. The store is accepted if it has exactly
// the tables of the manifest. A table that the manifest does not know comes from a flush that a
// crash interrupted, or shows that the manifest lost a record.
func (in *inspection) acceptUnproven(format int) error {
	in.sealLost = true
	var strange []string
	for _, name := range in.names {
		if number, ok := tableNumber(name); ok {
			if _, known := in.bounds[number]; !known {
				strange = append(strange, name)
			}
		}
	}
	if len(strange) == 0 {
		return nil
	}
	slices.Sort(strange)
	const advice = "if the store was killed before this, move them to another directory and start again; otherwise " + adviceRestore
	if format < sealedFormat {
		return in.damaged(in.fs.PathBase(in.path), "does not know the tables %s; %s",
			strings.Join(strange, ", "), advice)
	}
	return in.damaged(sealFile, "is missing or damaged, and the manifest does not know the tables %s; %s", strings.Join(strange, ", "), advice)
}

// repair restores the missing files whose content is known from the inspection.
func (in *inspection) repair() error {
	fs := in.fs
	for _, name := range in.markers {
		in.log.Warn("storage: a missing file was restored", "file", fs.PathJoin(in.dir, name))
		f, err := fs.Create(fs.PathJoin(in.dir, name), vfs.WriteCategoryUnspecified)
		if err == nil {
			err = errors.Join(f.Close(), syncDirectory(fs, in.dir))
		}
		if err != nil {
			return fmt.Errorf("storage/pebble: %w", err)
		}
	}
	if in.optionsDamaged != nil {
		for _, name := range in.names {
			if isOptions(name) {
				in.log.Warn("storage: a damaged file is restored", "file", fs.PathJoin(in.dir, name),
					"error", in.optionsDamaged)
				if err := fs.Remove(fs.PathJoin(in.dir, name)); err != nil {
					return fmt.Errorf("storage/pebble: %w", err)
				}
			}
		}
	}
	if !in.sealLost {
		return nil
	}
	if in.manifest > 0 {
		in.log.Warn("storage: the manifest has a new seal", "file", fs.PathJoin(in.dir, sealFile))
	}
	return createSeal(fs, in.dir, in.current)
}
