package pipeline

import (
	"bufio"
	"fmt"

	"github.com/sheafdb/sheaf/internal/spill"
	"github.com/sheafdb/sheaf/internal/tempfile"
)

// tempFile is a tempfile.File that is written once, through a buffer, and then read.
type tempFile struct {
	tempfile.File
	out  *bufio.Writer
	size int64 // with what is in the buffer
}

func (t *tempFile) create(dir string) error {
	if err := t.Create(dir); err != nil {
		return err
	}
	t.out = bufio.NewWriterSize(&t.File, spill.WriteBuffer)
	return nil
}

func (t *tempFile) write(b []byte) error {
	n, err := t.out.Write(b)
	t.size += int64(n)
	if err != nil {
		return fmt.Errorf("writing a temporary file: %w", err)
	}
	return nil
}

// flush ends the writing.
func (t *tempFile) flush() error {
	if err := t.out.Flush(); err != nil {
		return fmt.Errorf("writing a temporary file: %w", err)
	}
	t.out = nil
	return nil
}
