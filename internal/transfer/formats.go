package transfer

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// maxRecord is the maximum size of one record of a file in bytes. It is generous for the Extended
// JSON of a 16 MiB document.
const maxRecord = 128 << 20

// Format is the file format of documents.
type Format string

// The formats. JSON stands for JSON lines or a JSON array, depending on how the file begins. TSV is
// CSV with tabs between the cells.
const (
	JSON      Format = "json"
	JSONArray Format = "jsonarray"
	CSV       Format = "csv"
	TSV       Format = "tsv"
)

// IsTable reports whether the file has cells in columns.
func (f Format) IsTable() bool { return f == CSV || f == TSV }

// FormatOf returns the format for a file name. If the name does not tell, it returns JSON and
// false.
func FormatOf(path string) (f Format, told bool) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".csv":
		return CSV, true
	case ".tsv", ".tab":
		return TSV, true
	case ".json", ".jsonl", ".ndjson":
		return JSON, true
	default:
		return JSON, false
	}
}

// ParseFormat parses the name of a format. If the name is empty, the file name decides.
func ParseFormat(name, path string) (Format, error) {
	switch Format(name) {
	case "":
		f, _ := FormatOf(path)
		return f, nil
	case JSON, JSONArray, CSV, TSV:
		return Format(name), nil
	}
	return "", fmt.Errorf("unknown format %q: use json, jsonarray, csv or tsv", name)
}

// tab is the delimiter of a TSV file.
const tab = '\t'

// Reader reads documents from a file.
type Reader interface {
	// Next returns the next document and the line on which it begins, and io.EOF after the last
	// document. A *recordError means that this record is bad, and that Next can be called again for
	// the following one. Any other error ends the file. The caller owns the document.
	Next() (doc bson.Raw, line int, err error)
}

// Writer writes documents to a file.
type Writer interface {
	Write(doc bson.Raw) error
	// Close writes the end of the format. It does not close the file.
	Close() error
}

// recordError describes the error in one record.
type recordError struct {
	Line int
	Err  error
}

// Error names the line and the cause.
func (e *recordError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the cause.
func (e *recordError) Unwrap() error { return e.Err }

// ReaderOptions are the options of an import that concern reading.
type ReaderOptions struct {
	Columns      []string // of a CSV file without a header line
	IgnoreBlanks bool     // omit the fields of empty CSV cells
	Delimiter    rune     // between the cells of a CSV file; 0 to detect it in the header line
	RoundNumbers bool     // store the nearest double for a number that no type can hold
}

// NewReader returns a reader of a file's documents.
func NewReader(r io.Reader, f Format, opts ReaderOptions) (Reader, error) {
	in := bufio.NewReaderSize(r, 1<<20)
	if err := checkStart(in); err != nil {
		return nil, err
	}
	switch f {
	case CSV:
		return newCSVReader(in, opts)
	case TSV:
		opts.Delimiter = cmp.Or(opts.Delimiter, tab)
		return newCSVReader(in, opts)
	case JSON, JSONArray:
		return newJSONReader(in, opts.RoundNumbers)
	}
	return nil, fmt.Errorf("unknown format %q", f)
}

// others are the first bytes of unsupported file types.
var others = []struct{ start, name string }{
	{"\xff\xfe", "in UTF-16"},
	{"\xfe\xff", "in UTF-16"},
	{"\x1f\x8b", "compressed by gzip"},
	{"\x28\xb5\x2f\xfd", "compressed by zstd"},
	{"\xfd7zXZ\x00", "compressed by xz"},
	{"PK\x03\x04", "a ZIP archive, as those of spreadsheets are"},
}

// checkStart returns an error if the first bytes show that the file is not UTF-8 text. It skips a
// UTF-8 byte order mark.
func checkStart(in *bufio.Reader) error {
	start, err := in.Peek(8)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	for _, o := range others {
		if strings.HasPrefix(string(start), o.start) {
			return fmt.Errorf("the file is %s: give it as plain text in UTF-8", o.name)
		}
	}
	if strings.HasPrefix(string(start), "\ufeff") {
		_, err = in.Discard(len("\ufeff"))
		return err
	}
	return nil
}

// WriterOptions are the options of an export that concern writing.
type WriterOptions struct {
	Canonical bool     // Extended JSON that keeps every type
	Columns   []string // of a CSV file
	Replace   bool     // write U+FFFD in place of bytes that are not UTF-8 in JSON
}

// NewWriter returns a writer of documents.
func NewWriter(w io.Writer, f Format, opts WriterOptions) (Writer, error) {
	switch f {
	case CSV:
		return newCSVWriter(w, ',', opts.Columns)
	case TSV:
		return newCSVWriter(w, tab, opts.Columns)
	case JSON:
		return &jsonWriter{out: w, canonical: opts.Canonical, replace: opts.Replace}, nil
	case JSONArray:
		return &jsonWriter{out: w, canonical: opts.Canonical, replace: opts.Replace, array: true}, nil
	}
	return nil, fmt.Errorf("unknown format %q", f)
}
