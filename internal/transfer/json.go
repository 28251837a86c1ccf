package transfer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// whiteSpace may occur between the tokens of JSON.
const whiteSpace = " \t\r\n"

// newJSONReader decides between lines and an array by the first byte that is not white space.
func newJSONReader(in *bufio.Reader, rounds bool) (Reader, error) {
	line := 1
	for {
		b, err := in.ReadByte()
		if errors.Is(err, io.EOF) {
			return &lineReader{in: in, line: line, rounds: rounds}, nil
		}
		if err != nil {
			return nil, err
		}
		switch b {
		case '\n':
			line++
			continue
		case ' ', '\t', '\r':
			continue
		}
		if err := in.UnreadByte(); err != nil {
			return nil, err
		}
		if b == '[' {
			return newArrayReader(in, line, rounds)
		}
		return &lineReader{in: in, line: line, rounds: rounds}, nil
	}
}

// lineReader reads one document per line.
type lineReader struct {
	in     *bufio.Reader
	line   int // number of the next line
	rounds bool
}

func (r *lineReader) Next() (bson.Raw, int, error) {
	for {
		text, err := readLine(r.in)
		if err != nil {
			return nil, r.line, err
		}
		line := r.line
		r.line++
		if text = bytes.TrimSpace(text); len(text) == 0 {
			continue
		}
		doc, err := parseRecord(text, r.rounds)
		if err != nil {
			return nil, line, &recordError{line, err}
		}
		return doc, line, nil
	}
}

// readLine returns the next line. Only maxRecord limits its length.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxRecord:
			return nil, fmt.Errorf("a line is longer than %d bytes", maxRecord)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(line) > 0:
			return line, nil
		case err != nil:
			return nil, err
		}
		return line, nil
	}
}

// arrayReader reads the elements of a JSON array.
type arrayReader struct {
	dec    *json.Decoder
	lines  *lineCounter
	done   bool
	rounds bool
}

func newArrayReader(in io.Reader, line int, rounds bool) (*arrayReader, error) {
	lines := &lineCounter{in: in, line: line}
	r := &arrayReader{dec: json.NewDecoder(lines), lines: lines, rounds: rounds}
	if _, err := r.dec.Token(); err != nil { // the opening bracket
		return nil, err
	}
	return r, nil
}

func (r *arrayReader) Next() (bson.Raw, int, error) {
	if r.done {
		return nil, 0, io.EOF
	}
	if !r.dec.More() {
		r.done = true
		if _, err := r.dec.Token(); err != nil { // the closing bracket, or an error
			return nil, 0, fmt.Errorf("line %d: the array is incomplete: %w",
				r.lines.at(r.dec.InputOffset()), unexpected(err))
		}
		return nil, 0, r.rest()
	}
	var text json.RawMessage
	if err := r.dec.Decode(&text); err != nil {
		r.done = true
		// The element begins after white space.
		left, _ := io.ReadAll(r.dec.Buffered())
		white := len(left) - len(bytes.TrimLeft(left, whiteSpace))
		return nil, 0, fmt.Errorf("line %d: %w", r.lines.at(r.dec.InputOffset()+int64(white)), unexpected(err))
	}
	line := r.lines.at(r.dec.InputOffset() - int64(len(text)))
	doc, err := parseRecord(text, r.rounds)
	if err != nil {
		return nil, line, &recordError{line, err}
	}
	return doc, line, nil
}

// rest reads the text after the array. It returns io.EOF if that is only white space.
func (r *arrayReader) rest() error {
	line := r.lines.at(r.dec.InputOffset())
	in := bufio.NewReader(io.MultiReader(r.dec.Buffered(), r.lines.in))
	for {
		b, err := in.ReadByte()
		switch {
		case err != nil:
			return err
		case b == '\n':
			line++
		case strings.IndexByte(whiteSpace, b) < 0:
			return fmt.Errorf("line %d: the file continues after the end of the array, and the rest was not read: "+
				"a file has one array, or one document a line", line)
		}
	}
}

// unexpected distinguishes an end in the middle of an array from the end of the records.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// lineCounter remembers the line breaks in text that was read but not yet consumed.
type lineCounter struct {
	in     io.Reader
	read   int64
	breaks []int64 // offsets of line breaks after the offset of the last call of at
	line   int     // line of the offset of the last call of at
}

func (c *lineCounter) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	for i, b := range p[:n] {
		if b == '\n' {
			c.breaks = append(c.breaks, c.read+int64(i))
		}
	}
	c.read += int64(n)
	return n, err
}

// at returns the line of an offset. Offsets must not decrease.
func (c *lineCounter) at(offset int64) int {
	n := 0
	for n < len(c.breaks) && c.breaks[n] < offset {
		n++
	}
	c.line += n
	c.breaks = c.breaks[:copy(c.breaks, c.breaks[n:])]
	return c.line
}

// ParseDocument parses one document of Extended JSON, such as a query. Text after it is an error,
// and so is a number that no type can hold exactly.
func ParseDocument(text string) (bson.D, error) {
	raw, err := parseDocument(bytes.TrimSpace([]byte(text)), false)
	if err != nil {
		return nil, err
	}
	var doc bson.D
	if err := bson.Unmarshal(raw, &doc); err != nil {
		return nil, err
	}
	return doc, nil
}

// parseRecord is parseDocument for a record of a file.
func parseRecord(text []byte, rounds bool) (bson.Raw, error) {
	doc, err := parseDocument(text, rounds)
	return doc, orRound(err)
}

// parseDocument parses one document of Extended JSON. Text after it is an error. A number that no
// type can hold exactly is an error, unless rounds is set.
func parseDocument(text []byte, rounds bool) (bson.Raw, error) {
	if len(text) == 0 || text[0] != '{' {
		return nil, errors.New("not a JSON document")
	}
	if !json.Valid(text) {
		// The syntax error of encoding/json names the problem and its position.
		var v any
		err := json.Unmarshal(text, &v)
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, fmt.Errorf("%w at byte %d", err, syntax.Offset)
		}
		return nil, fmt.Errorf("invalid JSON: %w", err)
	}
	if err := checkLosses(text, rounds); err != nil {
		return nil, err
	}
	var doc bson.Raw
	if err := bson.UnmarshalExtJSON(text, false, &doc); err != nil {
		return nil, fmt.Errorf("invalid Extended JSON: %w", err)
	}
	return doc, nil
}

// jsonWriter writes one document per line, or an array with one element per line.
type jsonWriter struct {
	out       io.Writer
	canonical bool
	replace   bool // replace bytes that are not UTF-8
	array     bool
	written   bool
	buf       []byte
}

func (w *jsonWriter) Write(doc bson.Raw) error {
	if field := notText(doc); field != "" && !w.replace {
		return fmt.Errorf("the document with _id %s has text that is not UTF-8, which JSON cannot hold, in the field %s: "+
			"export CSV, or let it be replaced", doc.Lookup("_id"), field)
	}
	if field := ambiguous(doc); field != "" {
		return fmt.Errorf("the document with _id %s has the field %s, which Extended JSON would turn into another value "+
			"or damage: leave it out by a projection", doc.Lookup("_id"), field)
	}
	text, err := bson.MarshalExtJSON(doc, w.canonical, false)
	if err != nil {
		return err
	}
	w.buf = w.buf[:0]
	switch {
	case w.array && !w.written:
		w.buf = append(w.buf, "[\n"...)
	case w.array:
		w.buf = append(w.buf, ",\n"...)
	}
	w.buf = append(w.buf, text...)
	if !w.array {
		w.buf = append(w.buf, '\n')
	}
	w.written = true
	_, err = w.out.Write(w.buf)
	return err
}

func (w *jsonWriter) Close() error {
	if !w.array {
		return nil
	}
	end := "\n]\n"
	if !w.written {
		end = "[]\n"
	}
	_, err := io.WriteString(w.out, end)
	return err
}
