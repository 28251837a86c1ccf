package pebble

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"
)

// A log has records in blocks of 32 KiB, like the manifest. Its chunks also have the log's number:
//
//	| checksum (4) | length (2) | type (1) | number (4) | payload |   type: 5 full to 8 last
//
// A log that was closed ends with a header that is zero except for the type and the next number. A
// record is a batch. A batch that was committed durably has a mark: the number of a log, and how
// far that log was synced before.
const (
	logBlock  = 32 << 10
	logHeader = 11
	// legacyHeader is how much of a block's unused end Pebble reads. A rest too small for a header
	// is filled with zeros. Pebble stops reading if it is not zero.
	legacyHeader = 7
	logFull      = 5
	logFirst     = 6
	logMiddle    = 7
	logLast      = 8
)

// logEnd is where a log ends.
type logEnd struct {
	// readable is the end of the last readable chunk. record is the end of the last complete
	// record.
	readable, record int64
	// closed means that the mark of a closed log follows.
	closed bool
}

// logScan reads a log.
type logScan struct {
	number uint32
	end    logEnd
	// marks are the greatest marks, by the number of the log that they describe.
	marks map[uint64]int64
	// broken means that the end was found. Further chunks are read only for their marks.
	broken bool
	// inside means that the last chunk of the current record is still missing.
	inside bool
	record []byte
}

// scanLog finds the end of a log, which is before the first unreadable chunk. It adds all marks to
// marks, including the marks after the end.
func scanLog(r io.Reader, number uint32, marks map[uint64]int64) (logEnd, error) {
	s := logScan{number: number, marks: marks}
	buf := make([]byte, logBlock)
	for block := int64(0); !s.end.closed; block += logBlock {
		n, err := io.ReadFull(r, buf)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return s.end, err
		}
		s.block(buf[:n], block)
	}
	return s.end, nil
}

// block reads a block that starts at an offset.
func (s *logScan) block(buf []byte, offset int64) {
	at := 0
	for at+logHeader <= len(buf) {
		length, kind, ok := logChunk(buf[at:], s.number)
		continues := kind == logMiddle || kind == logLast
		switch {
		case ok && s.inside == continues:
			s.chunk(buf[at+logHeader:at+length], kind)
			at += length
			s.reached(offset + int64(at))
		case ok && s.inside:
			// The end of the previous record is missing.
			s.inside, s.broken = false, true
		case ok:
			s.broken = true
			at += length
		case !s.broken && !s.inside && closesLog(buf[at:], s.number):
			s.end.readable, s.end.closed = offset+int64(at+logHeader), true
			return
		default:
			s.inside, s.broken = false, true
			at++
		}
	}
	if len(buf) < logBlock {
		return
	}
	if rest := buf[at:]; len(rest) >= legacyHeader && !allZero(rest[:legacyHeader]) {
		s.inside, s.broken = false, true
	}
	if !s.broken {
		s.end.readable = offset + logBlock
	}
}

// reached records that the log is readable up to an offset, unless its end was found before.
func (s *logScan) reached(offset int64) {
	if s.broken {
		return
	}
	s.end.readable = offset
	if !s.inside {
		s.end.record = offset
	}
}

// chunk adds the payload of a chunk to the current record.
func (s *logScan) chunk(payload []byte, kind byte) {
	switch kind {
	case logFull:
		s.batch(payload)
	case logFirst:
		s.inside = true
		s.record = append(s.record[:0], payload...)
	default:
		s.record = append(s.record, payload...)
		if kind == logLast {
			s.inside = false
			s.batch(s.record)
		}
	}
}

// batch reads the mark of a batch, if it has one.
func (s *logScan) batch(record []byte) {
	entries := batchrepr.Read(record)
	for {
		kind, mark, _, ok, err := entries.Next()
		if !ok || err != nil {
			return
		}
		if kind != pebble.InternalKeyKindLogData {
			continue
		}
		number, n := binary.Uvarint(mark)
		if n <= 0 {
			continue
		}
		if offset, m := binary.Uvarint(mark[n:]); m > 0 {
			s.marks[number] = max(s.marks[number], int64(offset))
		}
	}
}

// logChunk checks the chunk at the start of p. It returns the chunk's length with the header.
func logChunk(p []byte, number uint32) (length int, kind byte, ok bool) {
	length, kind = logHeader+int(binary.LittleEndian.Uint16(p[4:])), p[6]
	if kind < logFull || kind > logLast || length > len(p) || binary.LittleEndian.Uint32(p[7:]) != number {
		return 0, 0, false
	}
	sum := crc32.Checksum(p[6:length], castagnoli)
	masked := (sum>>15 | sum<<17) + 0xa282ead8
	return length, kind, masked == binary.LittleEndian.Uint32(p)
}

// closesLog reports whether p starts with the mark of a closed log.
func closesLog(p []byte, number uint32) bool {
	return binary.LittleEndian.Uint32(p) == 0 && binary.LittleEndian.Uint16(p[4:]) == 0 && p[6] == logFull &&
		binary.LittleEndian.Uint32(p[7:]) == number+1
}
