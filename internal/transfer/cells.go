package transfer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Errors of a record of cells.
var (
	errBareQuote = errors.New(`bare " in non-quoted-field`)
	errAfterCell = errors.New(`extraneous or missing " in quoted-field`)
)

// cellReader takes a CSV file apart: RFC 4180, with lines that end in \n, \r\n or, as on an old
// Mac, \r. It differs from encoding/csv in that and in that it keeps the line ends of quoted cells
// as they are.
type cellReader struct {
	in        *bufio.Reader
	delimiter string
	returns   bool // a \r alone ends a line
	line      int  // how many lines were read
	cut       bool // the last line has no end
	buf       []byte
	cells     []string
}

// newCellReader returns a reader of the rest of in. The end of the first line tells whether a \r
// alone ends lines; in other files it is a part of its cell.
func newCellReader(in *bufio.Reader, delimiter rune) (*cellReader, error) {
	head, err := peek(in)
	if err != nil {
		return nil, err
	}
	_, end := firstLine(head)
	returns := end < len(head) && head[end] == '\r' && (end+1 == len(head) || head[end+1] != '\n')
	return &cellReader{in: in, delimiter: string(delimiter), returns: returns}, nil
}

// peek returns what the buffer can hold of the rest, without reading it.
func peek(in *bufio.Reader) ([]byte, error) {
	head, err := in.Peek(in.Size())
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return head, nil
}

// firstLine returns the first line without what stands in quotes or in the parentheses of a type,
// and where it ends.
func firstLine(text []byte) (out []byte, end int) {
	quoted, depth := false, 0
	for i, b := range text {
		switch {
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '\n' || b == '\r':
			return out, i
		case b == '(':
			depth++
		case b == ')':
			depth--
		case depth == 0:
			out = append(out, b)
		}
	}
	return out, len(text)
}

// read returns the cells of the next record and the line on which it begins. Lines without any
// character are skipped. The cells are valid until the next call. A *RecordError means that the
// next record can be read.
func (r *cellReader) read() (cells []string, line int, err error) {
	for len(r.buf) == 0 {
		if err := r.readLine(); err != nil {
			return nil, r.line, err
		}
		if len(trimEnd(r.buf)) == 0 {
			r.buf = r.buf[:0]
		}
	}
	defer func() { r.buf = r.buf[:0] }()
	line = r.line
	r.cells = r.cells[:0]
	for at := 0; ; {
		var cell string
		if at < len(r.buf) && r.buf[at] == '"' {
			cell, at, err = r.quoted(at+1, line)
		} else {
			cell, at, err = r.plain(at, line)
		}
		if err != nil {
			return nil, line, err
		}
		r.cells = append(r.cells, cell)
		rest := r.buf[at:]
		switch {
		case len(trimEnd(rest)) == 0:
			return r.cells, line, nil
		case bytes.HasPrefix(rest, []byte(r.delimiter)):
			at += len(r.delimiter)
		default:
			return nil, line, &RecordError{line, r.afterQuote(line, errAfterCell)}
		}
	}
}

// plain returns the cell without quotes at an offset, and the offset behind it.
func (r *cellReader) plain(at, line int) (string, int, error) {
	text := trimEnd(r.buf[at:])
	if i := bytes.Index(text, []byte(r.delimiter)); i >= 0 {
		text = text[:i]
	}
	if bytes.IndexByte(text, '"') >= 0 {
		return "", 0, &RecordError{line, r.afterQuote(line, errBareQuote)}
	}
	return string(text), at + len(text), nil
}

// quoted returns the cell whose text begins at an offset, after its quote, and the offset behind
// its closing quote. It reads more lines if the cell has them.
func (r *cellReader) quoted(at, line int) (string, int, error) {
	var cell strings.Builder
	for {
		i := bytes.IndexByte(r.buf[at:], '"')
		if i < 0 {
			cell.Write(r.buf[at:])
			at = len(r.buf)
			switch err := r.readLine(); {
			case errors.Is(err, io.EOF):
				return "", 0, &RecordError{line, r.afterQuote(line, errAfterCell)}
			case err != nil:
				return "", 0, err
			}
			continue
		}
		cell.Write(r.buf[at : at+i])
		at += i + 1
		if at == len(r.buf) || r.buf[at] != '"' {
			return cell.String(), at, nil
		}
		cell.WriteByte('"')
		at++
	}
}

// afterQuote says which lines a quote has taken that is not closed. Whatever stands in them was not
// read.
func (r *cellReader) afterQuote(line int, err error) error {
	if r.line == line {
		return err
	}
	return fmt.Errorf("a quote opens in this record and is not closed properly: the lines %d to %d were not read", line, r.line)
}

// readLine appends the next line to the record, with its end.
func (r *cellReader) readLine() error {
	from := len(r.buf)
	for {
		part, err := r.part()
		r.buf = append(r.buf, part...)
		switch {
		case len(r.buf) > maxRecord:
			return fmt.Errorf("line %d: a record is longer than %d bytes", r.line+1, maxRecord)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(r.buf) > from:
			r.cut = true
		case err != nil:
			return err
		}
		r.line++
		return nil
	}
}

// part returns bytes up to the end of a line, or as many as the buffer holds.
func (r *cellReader) part() ([]byte, error) {
	if !r.returns {
		return r.in.ReadSlice('\n')
	}
	if _, err := r.in.Peek(1); err != nil {
		return nil, err
	}
	head, _ := r.in.Peek(r.in.Buffered())
	end := bytes.IndexAny(head, "\r\n")
	if end < 0 {
		_, err := r.in.Discard(len(head))
		return head, errors.Join(bufio.ErrBufferFull, err)
	}
	if end++; head[end-1] == '\r' && end == len(head) {
		// Does a \n follow, which belongs to the same end?
		more, err := r.in.Peek(end + 1)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
		head = more
	}
	if end < len(head) && head[end-1] == '\r' && head[end] == '\n' {
		end++
	}
	_, err := r.in.Discard(end)
	return head[:end], err
}

// trimEnd cuts the end of a line off.
func trimEnd(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r"))
}
