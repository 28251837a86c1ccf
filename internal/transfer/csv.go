package transfer

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// csvReader reads one document per record.
type csvReader struct {
	in      *cellReader
	columns []column
	ignore  bool
}

func newCSVReader(in *bufio.Reader, opts ReaderOptions) (Reader, error) {
	delimiter, err := delimiterOf(in, opts)
	if err != nil {
		return nil, err
	}
	r, err := newCellReader(in, delimiter)
	if err != nil {
		return nil, err
	}
	header := opts.Columns
	if header == nil {
		if header, _, err = r.read(); errors.Is(err, io.EOF) {
			return nil, errors.New("the CSV file is empty: its first line must name the columns")
		} else if err != nil {
			return nil, fmt.Errorf("CSV header: %w", err)
		}
	}
	columns, err := parseColumns(header)
	if err != nil {
		return nil, err
	}
	if err := distinctColumns(columns); err != nil {
		return nil, err
	}
	return &csvReader{in: r, columns: columns, ignore: opts.IgnoreBlanks}, nil
}

// delimiters are the possible delimiters of CSV files, the usual one first.
const delimiters = ",;\t|"

// delimiterOf returns the delimiter from the options, or the one in the header line. Two candidates
// in the header line are an error.
func delimiterOf(in *bufio.Reader, opts ReaderOptions) (rune, error) {
	if opts.Delimiter != 0 {
		return opts.Delimiter, nil
	}
	if opts.Columns != nil {
		return ',', nil
	}
	head, err := peek(in)
	if err != nil {
		return 0, err
	}
	header, _ := firstLine(head)
	var found []rune
	for _, d := range delimiters {
		if bytes.ContainsRune(header, d) {
			found = append(found, d)
		}
	}
	switch len(found) {
	case 0:
		return ',', nil
	case 1:
		return found[0], nil
	default:
		return 0, fmt.Errorf("the header line has %q and %q: say which of them separates the columns with --delimiter", found[0], found[1])
	}
}

// distinctColumns returns an error if two columns name the same field, or if one names a field as a
// value and another as a document.
func distinctColumns(columns []column) error {
	for i := range columns {
		for j := range columns[:i] {
			a, b := columns[j].name(), columns[i].name()
			if a == b {
				return fmt.Errorf("two columns have the name %q: each needs its own", a)
			}
			if strings.HasPrefix(b, a+".") || strings.HasPrefix(a, b+".") {
				return fmt.Errorf("the columns %q and %q cannot both be: one makes the field a value, the other a document", a, b)
			}
		}
	}
	return nil
}

func (r *csvReader) Next() (bson.Raw, int, error) {
	record, line, err := r.in.read()
	switch {
	case err != nil:
		return nil, line, err
	case len(record) > len(r.columns):
		return nil, line, &recordError{
			line,
			fmt.Errorf("%d cells, but the header names %d columns", len(record), len(r.columns)),
		}
	case len(record) < len(r.columns) && r.in.cut:
		return nil, line, &recordError{line, fmt.Errorf("the file ends within this record: %d of %d cells, and no end of the line",
			len(record), len(r.columns))}
	}
	doc := bson.D{}
	for i, cell := range record {
		c := &r.columns[i]
		if cell == "" {
			if !r.ignore && (c.Type == "auto" || c.Type == "string") {
				doc = put(doc, c.Path, "")
			}
			continue // for other types an empty cell is not a value
		}
		v, err := c.parse(cell)
		if err != nil {
			return nil, line, &recordError{line, err}
		}
		doc = put(doc, c.Path, v)
	}
	raw, err := bson.Marshal(doc)
	if err != nil {
		return nil, line, &recordError{line, err}
	}
	return raw, line, nil
}

// put sets the value at a path, and creates the documents on the way.
func put(doc bson.D, path []string, v any) bson.D {
	if len(path) == 1 {
		return append(doc, bson.E{path[0], v})
	}
	for i := range doc {
		if inner, ok := doc[i].Value.(bson.D); ok && doc[i].Key == path[0] {
			doc[i].Value = put(inner, path[1:], v)
			return doc
		}
	}
	return append(doc, bson.E{path[0], put(bson.D{}, path[1:], v)})
}

// csvWriter writes the columns of documents.
type csvWriter struct {
	file    io.Writer
	out     *csv.Writer
	columns []column
	record  []string
}

func newCSVWriter(w io.Writer, delimiter rune, header []string) (Writer, error) {
	if len(header) == 0 {
		return nil, errors.New("a CSV file needs the names of its columns, such as name,address.city,born.date()")
	}
	columns, err := parseColumns(header)
	if err != nil {
		return nil, err
	}
	out := csv.NewWriter(w)
	out.Comma = delimiter
	return &csvWriter{file: w, out: out, columns: columns, record: make([]string, len(columns))}, out.Write(header)
}

func (w *csvWriter) Write(doc bson.Raw) error {
	for i := range w.columns {
		c := &w.columns[i]
		w.record[i] = ""
		v, err := doc.LookupErr(c.Path...)
		if err != nil {
			continue
		}
		if (v.Type != bson.TypeString || c.Type == "json") && !isDeepText(v) {
			return fmt.Errorf("the document with _id %s has text that is not UTF-8 in the column %s, whose cells are JSON", doc.Lookup("_id"), strings.Join(c.Path, "."))
		}
		text, ok := c.kind.format(v, c.Arg)
		if !ok {
			text, ok = formatAuto(v, "")
		}
		if !ok {
			return fmt.Errorf("the document with _id %s has a %s in the column %s that has no text", doc.Lookup("_id"), v.Type, c.name())
		}
		w.record[i] = text
	}
	if len(w.record) == 1 && w.record[0] == "" {
		return w.writeBlank()
	}
	return w.out.Write(w.record)
}

// writeBlank writes a record whose only cell is empty. An empty line would not count as a record.
func (w *csvWriter) writeBlank() error {
	if err := w.Close(); err != nil {
		return err
	}
	_, err := io.WriteString(w.file, "\"\"\n")
	return err
}

func (w *csvWriter) Close() error {
	w.out.Flush()
	return w.out.Error()
}
