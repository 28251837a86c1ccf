package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/sheafdb/sheaf/internal/limits"
)

// Compressor is the number of a compression in OP_COMPRESSED.
type Compressor byte

// The compressors.
const (
	CompressorNone   Compressor = 0
	CompressorSnappy Compressor = 1
	CompressorZlib   Compressor = 2
	CompressorZstd   Compressor = 3
	// Compressors is the number of compressors.
	Compressors = 4
)

type codec struct {
	name     string
	compress func(dst, src []byte) ([]byte, error)
	// decompress appends to dst. It fails if the result is much larger than size bytes.
	decompress func(dst, src []byte, size int) ([]byte, error)
}

// codecs is indexed by Compressor.
var codecs = [...]codec{
	CompressorNone:   {"noop", appendBytes, copyBytes},
	CompressorSnappy: {"snappy", snappyCompress, snappyDecompress},
	CompressorZlib:   {"zlib", zlibCompress, zlibDecompress},
	CompressorZstd:   {"zstd", zstdCompress, zstdDecompress},
}

// String returns the name that hello negotiates.
func (c Compressor) String() string {
	if int(c) < len(codecs) {
		return codecs[c].name
	}
	return fmt.Sprintf("compressor %d", byte(c))
}

// CompressorByName returns the compressor with the name that hello uses. "noop" cannot be
// negotiated.
func CompressorByName(name string) (Compressor, bool) {
	for i := range codecs {
		if i > 0 && codecs[i].name == name {
			return Compressor(i), true
		}
	}
	return 0, false
}

// CompressedPrefix is the number of bytes in an OP_COMPRESSED between its header and the compressed
// bytes:
//
//	original operation code (4) | uncompressed size (4) | compressor (1) | compressed bytes
const CompressedPrefix = 9

// PlainSize returns the uncompressed size that an OP_COMPRESSED states, or 0 if that size is
// impossible. b begins after the header and has CompressedPrefix bytes.
func PlainSize(b []byte) int {
	size := int32(binary.LittleEndian.Uint32(b[4:]))
	if size < 0 || size > limits.MessageBytes {
		return 0
	}
	return int(size)
}

// decompress replaces m's operation code by the original one, and returns the original bytes after
// the header.
func (m *Message) decompress(b []byte) ([]byte, error) {
	if len(b) < CompressedPrefix {
		return nil, ErrMalformed
	}
	op := OpCode(binary.LittleEndian.Uint32(b))
	size := int32(binary.LittleEndian.Uint32(b[4:]))
	id := Compressor(b[8])
	if size < 0 || size > limits.MessageBytes-HeaderLen || op == OpCompressed || int(id) >= len(codecs) {
		return nil, fmt.Errorf("%w: OP_COMPRESSED of %d bytes, operation code %d, %s", ErrMalformed, size, op, id)
	}
	src := b[CompressedPrefix:]
	// The stated size may be false. So only a likely size is allocated, and append grows the buffer
	// if necessary.
	dst := make([]byte, 0, min(int(size), likelyRatio*len(src)+512))
	out, err := codecs[id].decompress(dst, src, int(size))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrMalformed, id, err)
	}
	if len(out) != int(size) {
		return nil, fmt.Errorf("%w: decompressed to %d bytes instead of %d", ErrMalformed, len(out), size)
	}
	m.OpCode, m.Compressor, m.Owned = op, id, true
	m.Unpacked = HeaderLen + len(out)
	return out, nil
}

// likelyRatio is the expected compression ratio of messages.
const likelyRatio = 64

// Compress appends the message msg as an OP_COMPRESSED to dst.
func Compress(dst, msg []byte, id Compressor) ([]byte, error) {
	start := len(dst)
	dst = append(dst, msg[:HeaderLen]...)
	binary.LittleEndian.PutUint32(dst[start+12:], uint32(OpCompressed))
	dst = append(dst, msg[12:HeaderLen]...)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(msg)-HeaderLen))
	dst = append(dst, byte(id))
	dst, err := codecs[id].compress(dst, msg[HeaderLen:])
	if err != nil {
		return dst[:start], err
	}
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start))
	return dst, nil
}

var errTooLong = errors.New("decompressed data is longer than stated")

func appendBytes(dst, src []byte) ([]byte, error) { return append(dst, src...), nil }

func copyBytes(dst, src []byte, _ int) ([]byte, error) { return append(dst, src...), nil }

func snappyCompress(dst, src []byte) ([]byte, error) {
	n := snappy.MaxEncodedLen(len(src))
	at := len(dst)
	if cap(dst)-at < n {
		dst = append(make([]byte, 0, at+n), dst...)
	}
	return dst[:at+len(snappy.Encode(dst[at:at+n], src))], nil
}

func snappyDecompress(dst, src []byte, size int) ([]byte, error) {
	n, err := snappy.DecodedLen(src)
	if err != nil {
		return nil, err
	}
	if n > size {
		return nil, errTooLong
	}
	return snappy.Decode(dst[:cap(dst)], src)
}

var (
	zlibWriters = sync.Pool{New: func() any { return zlib.NewWriter(io.Discard) }}
	zstdCoders  = sync.OnceValues(newZstd)
)

type sliceWriter struct{ b []byte }

func (w *sliceWriter) Write(p []byte) (int, error) {
	w.b = append(w.b, p...)
	return len(p), nil
}

func zlibCompress(dst, src []byte) ([]byte, error) {
	out := &sliceWriter{dst}
	w := zlibWriters.Get().(*zlib.Writer)
	defer zlibWriters.Put(w)
	w.Reset(out)
	if _, err := w.Write(src); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.b, nil
}

func zlibDecompress(dst, src []byte, size int) ([]byte, error) {
	r, err := zlib.NewReader(bytes.NewReader(src))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	out := sliceWriter{dst}
	n, err := io.Copy(&out, io.LimitReader(r, int64(size)+1))
	if err == nil && n > int64(size) {
		err = errTooLong
	}
	return out.b, err
}

type zstdCodec struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}

// newZstd makes the encoder and decoder of all connections. Their EncodeAll and DecodeAll are safe
// for concurrent use.
func newZstd() (zstdCodec, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20),
		zstd.WithLowerEncoderMem(true))
	if err != nil {
		return zstdCodec{}, err
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderMaxMemory(limits.MessageBytes), zstd.WithDecoderLowmem(true))
	return zstdCodec{enc, dec}, err
}

func zstdCompress(dst, src []byte) ([]byte, error) {
	c, err := zstdCoders()
	if err != nil {
		return nil, err
	}
	return c.enc.EncodeAll(src, dst), nil
}

func zstdDecompress(dst, src []byte, size int) ([]byte, error) {
	c, err := zstdCoders()
	if err != nil {
		return nil, err
	}
	var h zstd.Header
	if err := h.Decode(src); err != nil {
		return nil, err
	}
	if h.HasFCS && h.FrameContentSize > uint64(size) {
		return nil, errTooLong
	}
	return c.dec.DecodeAll(src, dst)
}
