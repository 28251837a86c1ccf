package pipeline

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/projection"
)

// needsOf returns the paths that steps read of their input documents. It returns false if steps may
// read the whole document.
func needsOf(steps []step) (*parsing.Needs, bool) {
	n := &parsing.Needs{}
	for _, s := range steps {
		reader, ok := s.Stage.(parsing.Reader)
		if !ok {
			return nil, false
		}
		if reader.Needs(n); n.IsWhole() {
			return nil, false
		}
		if n.IsDone() {
			return n, true
		}
	}
	return nil, false
}

// Needs returns a projection to the fields that the pipeline reads, and its specification. Both are
// nil if the pipeline may read the whole document, or reads no field.
func (p *Pipeline) Needs() (*projection.Projection, bsonx.Doc) {
	n, ok := needsOf(p.steps)
	if !ok {
		return nil, nil
	}
	return n.Projection()
}

// TopFields returns the names of the top-level fields that the pipeline reads. If it may read any
// field, all is true and fields is nil.
func (p *Pipeline) TopFields() (fields map[string]bool, all bool) {
	n, ok := needsOf(p.steps)
	if !ok {
		return nil, true
	}
	fields = map[string]bool{}
	for _, name := range n.TopFields() {
		fields[name] = true
	}
	return fields, false
}
