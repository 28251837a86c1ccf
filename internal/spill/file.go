package spill

import (
	"bufio"
	"fmt"

	"github.com/sheafdb/sheaf/internal/tempfile"
)

// File is a temporary file that is written once, through a buffer, and then read. After Flush
// several goroutines may read it. A zero File is closed.
type File struct {
	file tempfile.File
	out  *bufio.Writer
	size int64 // includes the bytes in the buffer
}

// Create creates the file in dir, or in the system's folder for temporary files if dir is empty.
func (f *File) Create(dir string) error {
	if err := f.file.Create(dir); err != nil {
		return err
	}
	f.out = bufio.NewWriterSize(&f.file, writeBuffer)
	return nil
}

// Append writes b to the end of the file.
func (f *File) Append(b []byte) error {
	n, err := f.out.Write(b)
	f.size += int64(n)
	if err != nil {
		return fmt.Errorf("writing a temporary file: %w", err)
	}
	return nil
}

// Size returns the number of bytes that were appended.
func (f *File) Size() int64 { return f.size }

// Flush writes the buffer to the file. Nothing can be appended afterwards.
func (f *File) Flush() error {
	if err := f.out.Flush(); err != nil {
		return fmt.Errorf("writing a temporary file: %w", err)
	}
	f.out = nil
	return nil
}

// ReadAt implements io.ReaderAt.
func (f *File) ReadAt(p []byte, off int64) (int, error) { return f.file.ReadAt(p, off) }

// Close removes the file.
func (f *File) Close() { f.file.Close() }
