package pebble

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	iofs "io/fs"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sheafdb/sheaf/internal/storage"
)

// The manifest is a log of records in blocks of 32 KiB. A record is one chunk, or a first, middle ones and a last:
//
//	| checksum (4) | length (2) | type (1) | payload (length) |     type: 1 full, 2 first, 3 middle, 4 last
//
// The checksum is the masked CRC-32C of type and payload. A block's last bytes, too few for a header, are unused.
const (
	manifestBlock  = 32 << 10
	manifestHeader = 7
	chunkFull      = 1
	chunkFirst     = 2
	chunkLast      = 4
)

// verifyManifest looks for damage that Pebble would pass over. It takes an unreadable record for the torn end of the
// manifest, and what came after it never happened: tables are forgotten, and removed. But each record is synced before the
// next is written, so that a record after an unreadable one proves damage. (Of the last record it cannot be told.)
func verifyManifest(fs vfs.FS, dir string) error {
	desc, err := pebble.Peek(dir, fs)
	if err != nil || !desc.Exists {
		// Opening says more of what is wrong.
		return nil
	}
	path := fs.PathJoin(dir, fs.PathBase(desc.ManifestFilename))
	f, err := fs.Open(path)
	if errors.Is(err, iofs.ErrNotExist) {
		return fmt.Errorf("%w: file %s is missing", storage.ErrCorrupt, path)
	}
	if err != nil {
		return fmt.Errorf("storage/pebble: %w", err)
	}
	defer f.Close()
	content, err := io.ReadAll(f)
	if err != nil {
		return fmt.Errorf("storage/pebble: reading %s: %w", path, err)
	}
	at := 0
	for at < len(content) {
		if rest := manifestBlock - at%manifestBlock; rest < manifestHeader {
			at += rest
			continue
		}
		length, _, ok := manifestChunk(content, at)
		if !ok {
			break
		}
		at += length
	}
	for next := at + 1; next < len(content); next++ {
		if _, kind, ok := manifestChunk(content, next); ok && (kind == chunkFull || kind == chunkFirst) {
			return fmt.Errorf("%w in file %s: the record at byte %d is damaged, there are others after it",
				storage.ErrCorrupt, path, at)
		}
	}
	return nil
}

// manifestChunk checks the chunk at an offset and returns its length with the header.
func manifestChunk(content []byte, at int) (length int, kind byte, ok bool) {
	end := min(len(content), at-at%manifestBlock+manifestBlock)
	if end-at < manifestHeader {
		return 0, 0, false
	}
	header := content[at : at+manifestHeader]
	length = manifestHeader + int(binary.LittleEndian.Uint16(header[4:]))
	kind = header[6]
	if kind < chunkFull || kind > chunkLast || at+length > end {
		return 0, 0, false
	}
	sum := crc32.Checksum(content[at+6:at+length], crc32.MakeTable(crc32.Castagnoli))
	masked := (sum>>15 | sum<<17) + 0xa282ead8
	return length, kind, masked == binary.LittleEndian.Uint32(header)
}
