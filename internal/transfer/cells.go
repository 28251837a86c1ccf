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

// cellReader splits a CSV file into cells by RFC 4180. It differs from encoding/csv in two points:
// lines may end in \n, \r\n or \r, as on an old Mac, and the line ends in quoted cells stay
// unchanged.
type cellReader struct {
	in        *bufio.Reader
	delimiter string
	returns   bool // a \r alone ends a line
	line      int  // number of lines read
	cut       bool // the last line has no end
	buf       []byte
	cells     []string
}

// newCellReader returns a reader of the rest of in. If the first line ends in \r alone, all lines
// may end so. In other files a \r alone belongs to its cell.
func newCellReader(in *bufio.Reader, delimiter rune) (*cellReader, error) {
	head, err := peek(in)
	if err != nil {
		return nil, err
	}
	_, end := firstLine(head)
	returns := end < len(head) && head[end] == '\r' && (end+1 == len(head) || head[end+1] != '\n')
	return &cellReader{in: in, delimiter: string(delimiter), returns: returns}, nil
}

// peek returns as much of the rest as the buffer can hold, without consuming it.
func peek(in *bufio.Reader) ([]byte, error) {
	head, err := in.Peek(in.Size())
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return head, nil
}

// firstLine returns the first line without the text in quotes or in the parentheses of a type, and
// the end of the line.
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

// read returns the cells of the next record and the line on which it begins. It skips empty lines.
// The cells are valid until the next call. After a *recordError the next record can be read.
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
			return nil, line, &recordError{line, r.afterQuote(line, errAfterCell)}
		}
	}
}

// plain returns the cell without quotes at an offset, and the offset after it.
func (r *cellReader) plain(at, line int) (string, int, error) {
	text := trimEnd(r.buf[at:])
	if i := bytes.Index(text, []byte(r.delimiter)); i >= 0 {
		text = text[:i]
	}
	if bytes.IndexByte(text, '"') >= 0 {
		return "", 0, &recordError{line, r.afterQuote(line, errBareQuote)}
	}
	return string(text), at + len(text), nil
}

// quoted returns the cell whose text begins at an offset, after its quote, and the offset after its
// closing quote. It reads more lines if the cell has them.
func (r *cellReader) quoted(at, line int) (string, int, error) {
	var cell strings.Builder
	for {
		i := bytes.IndexByte(r.buf[at:], '"')
		if i < 0 {
			cell.Write(r.buf[at:])
			at = len(r.buf)
			switch err := r.readLine(); {
			case errors.Is(err, io.EOF):
				return "", 0, &recordError{line, r.afterQuote(line, errAfterCell)}
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

// afterQuote returns the error for a quote that is not closed. It names the lines that were taken
// for the cell and not imported.
func (r *cellReader) afterQuote(line int, err error) error {
	if r.line == line {
		return err
	}
	return fmt.Errorf("a quote opens in this record and is not closed properly: the lines %d to %d were not read", line, r.line)
}

// readLine appends the next line, with its end, to the record.
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
		// A \n after the \r belongs to the same line end.
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

// trimEnd removes the line end from a line.
func trimEnd(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r"))
}
