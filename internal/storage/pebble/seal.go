package pebble

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	iofs "io/fs"
	"math"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/atomicfs"
)

// The seal describes the manifest in a separate file: its number, how many of its bytes are synced,
// and their checksum. A manifest that was cut between two records looks complete. A store that lost
// its manifest's marker looks empty. Only the seal shows the damage.
//
// The file has two slots. The next seal overwrites the older slot, so that a torn write leaves the
// newer one intact:
//
//	| checksum (4) | sequence (8) | manifest number (8) | length (8) | manifest checksum (4) | zeros |   512 bytes
//
// Order of the writes: Pebble writes an edit to the manifest and syncs it. Before that sync
// returns, the seal is written and synced. Only then does Pebble remove the files that the edit
// made obsolete, and acknowledge a flush. So an edit beyond the sealed length was in progress at a
// crash. Nothing depends on it, whether it is complete, torn or damaged.
//
// A new manifest is sealed before its marker is moved. Until then the other slot has the seal of
// the old manifest.
const (
	sealFile  = "SHEAF_MANIFEST"
	sealSlot  = 512
	sealBytes = 2 * sealSlot
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal is the content of one slot.
type seal struct {
	sequence, manifest, length uint64
	sum                        uint32
}

// encode returns the slot's bytes.
func (s seal) encode() []byte {
	b := make([]byte, 4, sealSlot)
	b = binary.BigEndian.AppendUint64(b, s.sequence)
	b = binary.BigEndian.AppendUint64(b, s.manifest)
	b = binary.BigEndian.AppendUint64(b, s.length)
	b = binary.BigEndian.AppendUint32(b, s.sum)
	b = b[:sealSlot]
	binary.BigEndian.PutUint32(b, crc32.Checksum(b[4:], castagnoli))
	return b
}

// decodeSeal decodes a slot. It reports false if the slot is damaged or was never written.
func decodeSeal(b []byte) (s seal, ok bool) {
	if len(b) < sealSlot || binary.BigEndian.Uint32(b) != crc32.Checksum(b[4:sealSlot], castagnoli) {
		return seal{}, false
	}
	s.sequence = binary.BigEndian.Uint64(b[4:])
	s.manifest = binary.BigEndian.Uint64(b[12:])
	s.length = binary.BigEndian.Uint64(b[20:])
	s.sum = binary.BigEndian.Uint32(b[28:])
	return s, s.sequence > 0
}

// readSeals returns the seals of a store, the newest first. intact means that each of the two slots
// has a valid seal or was never written. blank means that no seal was ever written.
func readSeals(fs vfs.FS, dir string) (seals []seal, intact, blank bool, err error) {
	content, err := readAll(fs, fs.PathJoin(dir, sealFile), sealBytes+1)
	if errors.Is(err, iofs.ErrNotExist) {
		return nil, false, false, nil
	}
	if err != nil {
		return nil, false, false, err
	}
	intact, blank = len(content) == sealBytes, len(content) == sealBytes
	for at := 0; at+sealSlot <= len(content); at += sealSlot {
		slot := content[at : at+sealSlot]
		s, ok := decodeSeal(slot)
		switch {
		case ok:
			seals, blank = append(seals, s), false
		case !allZero(slot):
			intact, blank = false, false
		}
	}
	if len(seals) == 2 && seals[0].sequence < seals[1].sequence {
		seals[0], seals[1] = seals[1], seals[0]
	}
	return seals, intact, blank, nil
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// readAll returns a file's first bytes, at most limit.
func readAll(fs vfs.FS, path string, limit int64) ([]byte, error) {
	f, err := fs.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, limit))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return content, nil
}

// createSeal atomically creates the file with this seal, or without a seal if its manifest is 0.
func createSeal(fs vfs.FS, dir string, s seal) error {
	content := make([]byte, sealBytes)
	if s.manifest > 0 {
		copy(content[sealSlot*(s.sequence%2):], s.encode())
	}
	return writeWhole(fs, dir, sealFile, content)
}

// writeWhole creates a file durably and atomically.
func writeWhole(fs vfs.FS, dir, name string, content []byte) error {
	path := fs.PathJoin(dir, name)
	f, err := fs.Create(path+tempSuffix, "sheaf-format")
	if err == nil {
		_, err = f.Write(content)
		if err == nil {
			err = f.Sync()
		}
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
	}
	if err == nil {
		err = fs.Rename(path+tempSuffix, path)
	}
	if err == nil {
		err = syncDirectory(fs, dir)
	}
	if err != nil {
		return fmt.Errorf("storage/pebble: writing %s: %w", path, err)
	}
	return nil
}

// sealCopy seals the manifest of a new copy of a store.
func sealCopy(fs vfs.FS, dir string) error {
	name, err := atomicfs.ReadMarker(fs, dir, "manifest")
	if err != nil {
		return fmt.Errorf("storage/pebble: %w", err)
	}
	s := seal{sequence: 1}
	if n, err := fmt.Sscanf(name, "MANIFEST-%d", &s.manifest); n != 1 {
		return fmt.Errorf("storage/pebble: the copy in %s has no manifest: %w", dir, err)
	}
	content, err := readAll(fs, fs.PathJoin(dir, name), math.MaxInt64)
	if err != nil {
		return fmt.Errorf("storage/pebble: %w", err)
	}
	if len(content) == 0 {
		return fmt.Errorf("storage/pebble: the copy in %s has an empty manifest", dir)
	}
	s.length, s.sum = uint64(len(content)), crc32.Checksum(content, castagnoli)
	return createSeal(fs, dir, s)
}

// sealer writes the seals of an open store. It needs no lock, because Pebble writes only one
// manifest at a time.
type sealer struct {
	file vfs.File
	last seal
	// used means that a seal, and so a manifest, was written since the store was opened.
	used atomic.Bool
}

// openSealer opens the file of the seals. The next seal follows the newest one.
func openSealer(fs vfs.FS, dir string, seals []seal) (*sealer, error) {
	file, err := fs.OpenReadWrite(fs.PathJoin(dir, sealFile), "sheaf-format")
	if err != nil {
		return nil, fmt.Errorf("storage/pebble: %w", err)
	}
	s := &sealer{file: file}
	if len(seals) > 0 {
		s.last = seals[0]
	}
	return s, nil
}

// write writes a seal durably.
func (s *sealer) write(manifest, length uint64, sum uint32) error {
	next := seal{sequence: s.last.sequence + 1, manifest: manifest, length: length, sum: sum}
	if _, err := s.file.WriteAt(next.encode(), int64(sealSlot*(next.sequence%2))); err != nil {
		return err
	}
	if err := s.file.SyncData(); err != nil {
		return err
	}
	s.last = next
	s.used.Store(true)
	return nil
}

// manifestFile is a manifest that is being written. Each sync of it writes a seal.
type manifestFile struct {
	*diskFile
	number, length uint64
	sum            uint32
}

// Write implements vfs.File.
func (f *manifestFile) Write(p []byte) (int, error) {
	content := bytes.Clone(p) // a file may modify its argument, as Pebble's files do under the race detector
	n, err := f.diskFile.Write(p)
	f.length += uint64(n)
	f.sum = crc32.Update(f.sum, castagnoli, content[:n])
	return n, err
}

// Sync implements vfs.File.
func (f *manifestFile) Sync() error { return f.sealed(f.diskFile.Sync()) }

// SyncData implements vfs.File.
func (f *manifestFile) SyncData() error { return f.sealed(f.diskFile.SyncData()) }

// sealed writes the seal of a manifest that was synced.
func (f *manifestFile) sealed(err error) error {
	if err != nil || f.fs.guard.failure() != nil {
		return err
	}
	return f.fs.essential(metaFile, func() error { return f.fs.seals.write(f.number, f.length, f.sum) })
}
