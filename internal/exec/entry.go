package exec

import (
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/keystring"
	"github.com/sheafdb/sheaf/internal/table"
)

// EntryFields decodes the fields of index entries. Its buffers are reused from row to row.
type EntryFields struct {
	values []bsonx.Value
	buf    []byte
}

// Decode returns the values of the row's index entry, in the order of the index fields. In an index
// with a collation, a string is replaced by its collation key. For a row of the _id index it
// returns the _id. The values are valid until the next call.
func (e *EntryFields) Decode(row *Row) ([]bsonx.Value, error) {
	e.values = e.values[:0]
	if row.Index == nil {
		return append(e.values, row.Doc.Lookup("_id")), nil
	}
	fieldBits, _, err := keystring.SplitTypeBits(row.Bits)
	if err != nil {
		return nil, err
	}
	bits := keystring.NewTypeBitsReader(fieldBits)
	e.buf = e.buf[:0]
	rest := row.Key
	for _, f := range row.Index.Pattern {
		v, n, buf, err := keystring.Decode(e.buf, rest, f.Desc, &bits)
		if err != nil {
			return nil, err
		}
		e.buf, rest = buf, rest[n:]
		if row.Index.Collation != nil {
			v = collation.Display(v)
		}
		e.values = append(e.values, v)
	}
	return e.values, nil
}

// Document appends to dst the row's index key as a document, with the field paths as its field
// names.
func (e *EntryFields) Document(dst []byte, row *Row) (bsonx.Doc, error) {
	values, err := e.Decode(row)
	if err != nil {
		return nil, err
	}
	out := bsonx.NewBuilder(dst)
	out.StartDoc()
	for i, f := range patternOf(row.Index) {
		out.Value(f.Path, values[i])
	}
	out.End()
	return out.Bytes(), nil
}

var idPattern = index.Pattern{{Path: "_id"}}

func patternOf(ix *table.Index) index.Pattern {
	if ix == nil {
		return idPattern
	}
	return ix.Pattern
}

// entryFilter evaluates a predicate on a document built from the fields of an index entry.
type entryFilter struct {
	pred   table.Predicate
	paths  []string
	fields EntryFields
	buf    bsonx.Builder
	layout layout
}

func newEntryFilter(pred table.Predicate, paths []string) *entryFilter {
	return &entryFilter{pred: pred, paths: paths}
}

func (f *entryFilter) match(row *Row) (bool, error) {
	if f.layout.index != row.Index || f.layout.order == nil {
		f.layout = newLayout(row.Index, f.paths)
	}
	values, err := f.fields.Decode(row)
	if err != nil {
		return false, err
	}
	return f.pred.Match(f.layout.document(&f.buf, values))
}

// layout describes how to build a document from the fields of an entry. Dotted paths become nested
// documents.
type layout struct {
	index *table.Index
	order []int // positions of the fields, sorted so that fields with a common prefix are adjacent
	paths [][]string
}

// newLayout returns the layout of those fields of an index that are in paths. nil paths select all
// fields.
func newLayout(ix *table.Index, paths []string) layout {
	l := layout{index: ix, order: []int{}}
	pattern := patternOf(ix)
	nested := false
	for i, f := range pattern {
		l.paths = append(l.paths, strings.Split(f.Path, "."))
		if paths == nil || slices.Contains(paths, f.Path) {
			l.order = append(l.order, i)
			nested = nested || len(l.paths[i]) > 1
		}
	}
	if nested {
		slices.SortStableFunc(l.order, func(a, b int) int { return slices.Compare(l.paths[a], l.paths[b]) })
	}
	l.dropBelow()
	return l
}

// dropBelow removes each field whose path lies within another selected field: the outer field
// contains its value.
func (l *layout) dropBelow() {
	out := l.order[:0]
	for _, f := range l.order {
		if n := len(out); n > 0 {
			above := l.paths[out[n-1]]
			if len(above) < len(l.paths[f]) && slices.Equal(above, l.paths[f][:len(above)]) {
				continue
			}
		}
		out = append(out, f)
	}
	l.order = out
}

// document builds the document in b's memory, from the values that EntryFields.Decode returned.
func (l *layout) document(b *bsonx.Builder, values []bsonx.Value) bsonx.Doc {
	b.Reset(b.Bytes()[:0])
	b.StartDoc()
	var open []string
	for _, f := range l.order {
		path := l.paths[f]
		common := 0
		for common < len(open) && common < len(path)-1 && open[common] == path[common] {
			common++
		}
		for range len(open) - common {
			b.End()
		}
		open = open[:common]
		for _, part := range path[common : len(path)-1] {
			b.StartDocField(part)
			open = append(open, part)
		}
		b.Value(path[len(path)-1], values[f])
	}
	for range len(open) + 1 {
		b.End()
	}
	return bsonx.Doc(b.Bytes())
}
