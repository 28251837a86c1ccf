package exec

import (
	"context"
	"errors"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/storage"
)

// Projector appends the projection of the row's document to dst.
type Projector func(dst []byte, row *Row) ([]byte, error)

// Project replaces each row's document with its projection.
type Project struct {
	base
	project Projector
	buf     []byte
	row     Row
}

// NewProject returns a projection.
func NewProject(env *Env, in Node, p Projector) *Project {
	return &Project{base: base{env: env, inputs: []Node{in}}, project: p}
}

// Next implements Node.
func (n *Project) Next(ctx context.Context) (*Row, error) {
	row, err := n.inputs[0].Next(ctx)
	if err != nil {
		return nil, err
	}
	if row == nil {
		return n.end()
	}
	if n.buf, err = n.project(n.buf[:0], row); err != nil {
		return nil, err
	}
	n.row = *row
	n.row.Doc = n.buf
	return n.emit(&n.row)
}

// IsEOF implements Node.
func (n *Project) IsEOF() bool { return n.stats.IsEOF || n.inputs[0].IsEOF() }

// ProjectCovered builds documents from index entries, without reading the records. An index does
// not distinguish a missing field from null, so ProjectCovered reads the record if a projected
// field of the entry is null.
type ProjectCovered struct {
	base
	paths   []string
	project Projector // nil if the document of the entry's fields is already the result
	fetched Projector
	fields  EntryFields
	layout  layout
	doc     bsonx.Builder
	buf     []byte
	row     Row
}

// NewProjectCovered returns a projection of those index fields that are in paths. fetched is
// applied to rows whose record had to be read. nested is applied to the document of the entry's
// fields; it is nil if that document is already the result.
func NewProjectCovered(env *Env, in Node, paths []string, nested, fetched Projector) *ProjectCovered {
	return &ProjectCovered{
		base: base{env: env, inputs: []Node{in}}, paths: paths, project: nested, fetched: fetched,
	}
}

// Next implements Node.
func (n *ProjectCovered) Next(ctx context.Context) (*Row, error) {
	for {
		row, err := n.inputs[0].Next(ctx)
		if err != nil {
			return nil, err
		}
		if row == nil {
			return n.end()
		}
		n.row = *row
		doc, found, err := n.shape(row)
		if err != nil {
			return nil, err
		}
		if found {
			n.row.Doc = doc
			return n.emit(&n.row)
		}
	}
}

// IsEOF implements Node.
func (n *ProjectCovered) IsEOF() bool { return n.stats.IsEOF || n.inputs[0].IsEOF() }

func (n *ProjectCovered) shape(row *Row) (doc bsonx.Doc, found bool, err error) {
	if row.Doc != nil && row.Index != nil {
		n.buf, err = n.fetched(n.buf[:0], &n.row)
		return n.buf, true, err
	}
	if n.layout.order == nil || n.layout.index != row.Index {
		n.layout = newLayout(row.Index, n.paths)
	}
	values, err := n.fields.Decode(row)
	if err != nil {
		return nil, false, err
	}
	for _, f := range n.layout.order {
		if values[f].IsNull() && row.Doc == nil {
			return n.read(row)
		}
	}
	doc = n.layout.document(&n.doc, values)
	if n.project == nil {
		return doc, true, nil
	}
	n.row.Doc = doc
	n.buf, err = n.project(n.buf[:0], &n.row)
	return n.buf, true, err
}

// read reads the record of a row and projects it. found is false if the record does not exist any
// more.
func (n *ProjectCovered) read(row *Row) (doc bsonx.Doc, found bool, err error) {
	value, closer, err := n.env.Reader.Get(row.RecordKey)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	n.stats.DocsExamined++
	n.row.Doc = value
	n.buf, err = n.fetched(n.buf[:0], &n.row)
	return n.buf, true, errors.Join(err, closer.Close())
}
