package transfer

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// csvReader reads one document a record.
type csvReader struct {
	in      *csv.Reader
	columns []Column
	ignore  bool
}

func newCSVReader(in io.Reader, opts ReaderOptions) (Reader, error) {
	r := csv.NewReader(in)
	r.FieldsPerRecord = -1 // checked here, so that a bad record does not end the file
	r.ReuseRecord = true
	r.LazyQuotes = true
	header := opts.Columns
	if header == nil {
		var err error
		if header, err = r.Read(); errors.Is(err, io.EOF) {
			return nil, errors.New("the CSV file is empty: its first line must name the columns")
		} else if err != nil {
			return nil, fmt.Errorf("CSV header: %w", err)
		}
	}
	columns, err := ParseColumns(header)
	if err != nil {
		return nil, err
	}
	return &csvReader{in: r, columns: columns, ignore: opts.IgnoreBlanks}, nil
}

func (r *csvReader) Next() (bson.Raw, int, error) {
	record, err := r.in.Read()
	var bad *csv.ParseError
	switch {
	case errors.As(err, &bad):
		return nil, bad.StartLine, &RecordError{bad.StartLine, bad.Err}
	case err != nil:
		return nil, 0, err
	}
	line, _ := r.in.FieldPos(0)
	if len(record) > len(r.columns) {
		return nil, line, &RecordError{line, fmt.Errorf("%d cells, but the header names %d columns", len(record), len(r.columns))}
	}
	doc := bson.D{}
	for i, cell := range record {
		c := &r.columns[i]
		if cell == "" {
			if !r.ignore && (c.Type == "auto" || c.Type == "string") {
				doc = put(doc, c.Path, "")
			}
			continue // of other types an empty cell is no value
		}
		v, err := c.parse(cell)
		if err != nil {
			return nil, line, &RecordError{line, err}
		}
		doc = put(doc, c.Path, v)
	}
	raw, err := bson.Marshal(doc)
	if err != nil {
		return nil, line, &RecordError{line, err}
	}
	return raw, line, nil
}

// put sets the value at a path and makes the documents on the way.
func put(doc bson.D, path []string, v any) bson.D {
	if len(path) == 1 {
		return append(doc, bson.E{Key: path[0], Value: v})
	}
	for i := range doc {
		if inner, ok := doc[i].Value.(bson.D); ok && doc[i].Key == path[0] {
			doc[i].Value = put(inner, path[1:], v)
			return doc
		}
	}
	return append(doc, bson.E{Key: path[0], Value: put(bson.D{}, path[1:], v)})
}

// csvWriter writes the columns of documents.
type csvWriter struct {
	out     *csv.Writer
	columns []Column
	record  []string
}

func newCSVWriter(w io.Writer, header []string) (Writer, error) {
	if len(header) == 0 {
		return nil, errors.New("a CSV file needs the names of its columns, such as name,address.city,born.date()")
	}
	columns, err := ParseColumns(header)
	if err != nil {
		return nil, err
	}
	out := csv.NewWriter(w)
	return &csvWriter{out: out, columns: columns, record: make([]string, len(columns))}, out.Write(header)
}

func (w *csvWriter) Write(doc bson.Raw) error {
	for i := range w.columns {
		c := &w.columns[i]
		w.record[i] = ""
		v, err := doc.LookupErr(c.Path...)
		if err != nil {
			continue
		}
		text, ok := c.kind.format(v, c.Arg)
		if !ok {
			text, _ = formatAuto(v, "")
		}
		w.record[i] = text
	}
	return w.out.Write(w.record)
}

func (w *csvWriter) Close() error {
	w.out.Flush()
	return w.out.Error()
}
