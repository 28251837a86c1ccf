package tempfile

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/sheafdb/sheaf/internal/mongoerr"
)

const (
	// block is the number of bytes that share a checksum. A random read reads whole blocks. The
	// checksums of a file of 1 GiB take 512 KiB.
	block = 8 << 10
	// prefix is the prefix of the file names.
	prefix = "sheaf-temp-"
)

// File is a temporary file that grows at its end. The zero File is a file that does not exist yet.
// One goroutine writes. Several may read while no goroutine writes.
type File struct {
	file  *os.File
	named bool
	size  int64
	sums  []uint32  // checksum of each block; the last one covers the bytes written so far
	pool  sync.Pool // of *[]byte, buffers for reading blocks
}

// table returns the checksum table of Castagnoli's polynomial, for which processors have
// instructions. The library builds the table once.
func table() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// Create makes the file in the directory dir, or in the system's directory for temporary files if
// dir is empty. It makes the directory if it is missing. It does nothing if the file was created
// before.
func (f *File) Create(dir string) error {
	if f.file != nil {
		return nil
	}
	file, err := os.CreateTemp(dir, prefix+"*")
	if errors.Is(err, fs.ErrNotExist) && dir != "" {
		if err = os.MkdirAll(dir, 0o700); err == nil {
			file, err = os.CreateTemp(dir, prefix+"*")
		}
	}
	if err != nil {
		return fmt.Errorf("creating a temporary file: %w", err)
	}
	f.file, f.named = file, os.Remove(file.Name()) != nil
	return nil
}

// Size returns the number of bytes written.
func (f *File) Size() int64 { return f.size }

// Write appends to the file.
func (f *File) Write(p []byte) (int, error) {
	n, err := f.file.WriteAt(p, f.size)
	f.sum(p[:n])
	if err != nil {
		return n, fmt.Errorf("writing a temporary file: %w", err)
	}
	return n, nil
}

// sum adds the appended bytes to the checksums.
func (f *File) sum(p []byte) {
	for len(p) > 0 {
		used := int(f.size % block)
		if used == 0 {
			f.sums = append(f.sums, 0)
		}
		part := p[:min(len(p), block-used)]
		last := &f.sums[len(f.sums)-1]
		*last = crc32.Update(*last, table(), part)
		f.size += int64(len(part))
		p = p[len(part):]
	}
}

// ReadAt implements io.ReaderAt.
func (f *File) ReadAt(p []byte, at int64) (int, error) {
	if at >= f.size {
		return 0, io.EOF
	}
	end := min(at+int64(len(p)), f.size)
	from := at / block * block
	to := min((end+block-1)/block*block, f.size)
	if to-from > 4*block {
		return f.readLarge(p, at, end)
	}
	if from == at && to == end {
		err := f.readBlocks(p[:end-at], from)
		return f.end(p, int(end-at), err)
	}
	buf := f.buffer(int(to - from))
	defer f.pool.Put(buf)
	if err := f.readBlocks(*buf, from); err != nil {
		return 0, err
	}
	return f.end(p, copy(p, (*buf)[at-from:end-from]), nil)
}

// readLarge reads whole blocks directly into p. Only the partial blocks at both ends go through a
// buffer.
func (f *File) readLarge(p []byte, at, end int64) (int, error) {
	from := (at + block - 1) / block * block
	to := end
	if end < f.size {
		to = end / block * block
	}
	for _, part := range [][2]int64{{at, from}, {to, end}} {
		if part[0] == part[1] {
			continue
		}
		if _, err := f.ReadAt(p[part[0]-at:part[1]-at], part[0]); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
	}
	return f.end(p, int(end-at), f.readBlocks(p[from-at:to-at], from))
}

// end returns the result of a read of n bytes into p.
func (f *File) end(p []byte, n int, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// buffer returns room for n bytes of blocks.
func (f *File) buffer(n int) *[]byte {
	p, _ := f.pool.Get().(*[]byte)
	if p == nil || cap(*p) < n {
		made := make([]byte, n)
		p = &made
	}
	*p = (*p)[:n]
	return p
}

// readBlocks reads whole blocks and checks them.
func (f *File) readBlocks(buf []byte, from int64) error {
	n, err := f.file.ReadAt(buf, from)
	if n < len(buf) {
		if errors.Is(err, io.EOF) {
			return mongoerr.New(mongoerr.DataCorruptionDetected,
				"a temporary file of this operation was cut: it ends at byte %d of %d", from+int64(n), f.size)
		}
		return fmt.Errorf("reading a temporary file: %w", err)
	}
	for i := from / block; len(buf) > 0; i++ {
		n := min(len(buf), block)
		if crc32.Checksum(buf[:n], table()) != f.sums[i] {
			return mongoerr.New(mongoerr.DataCorruptionDetected,
				"a temporary file of this operation is damaged: the bytes from %d on are not those that were written", i*block)
		}
		buf = buf[n:]
	}
	return nil
}

// Reset makes the file empty. Later writes overwrite the old content.
func (f *File) Reset() { f.size, f.sums = 0, f.sums[:0] }

// Close removes the file. Closing a file that was never created does nothing.
func (f *File) Close() {
	if f.file == nil {
		return
	}
	// The content is no longer needed, so an error of Close does not matter.
	_ = f.file.Close()
	if f.named {
		_ = os.Remove(f.file.Name())
	}
	f.file, f.named = nil, false
	f.Reset()
}

// Clear removes the temporary files of a killed process from a directory. The directory need not
// exist.
func Clear(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return err
}
