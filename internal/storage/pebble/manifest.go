package pebble

import (
	"encoding/binary"
	"hash/crc32"
)

// The manifest is a log of records in blocks of 32 KiB. A record is one chunk, or a first, middle
// ones and a last:
//
//	| checksum (4) | length (2) | type (1) | payload (length) |     type: 1 full, 2 first, 3 middle, 4 last
//
// The checksum is the masked CRC-32C of type and payload. A block's last bytes, too few for a
// header, are unused.
const (
	manifestBlock  = 32 << 10
	manifestHeader = 7
	chunkFull      = 1
	chunkFirst     = 2
	chunkLast      = 4
)

// wholeRecords returns where the readable chunks of a manifest end. Pebble treats an unreadable
// record as the torn end of the manifest, and ignores all later records: it would forget and remove
// tables. But each record is synced before the next one is written. So a record after an unreadable
// one proves damage.
func wholeRecords(content []byte) (end int, damaged bool) {
	for end < len(content) {
		if rest := manifestBlock - end%manifestBlock; rest < manifestHeader {
			end += rest
			continue
		}
		length, _, ok := manifestChunk(content, end)
		if !ok {
			break
		}
		end += length
	}
	end = min(end, len(content))
	for next := end + 1; next < len(content); next++ {
		if _, kind, ok := manifestChunk(content, next); ok && (kind == chunkFull || kind == chunkFirst) {
			return end, true
		}
	}
	return end, false
}

// manifestChunk checks the chunk at an offset. It returns the chunk's length with the header.
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
	sum := crc32.Checksum(content[at+6:at+length], castagnoli)
	masked := (sum>>15 | sum<<17) + 0xa282ead8
	return length, kind, masked == binary.LittleEndian.Uint32(header)
}
