package pipeline

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/projection"
)

// needsOf returns what steps read of their documents; false where it may be all of them.
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

// Needs returns the projection to the fields that the pipeline reads, and its specification; nil
// where it may need all of them, or none.
func (p *Pipeline) Needs() (*projection.Projection, bsonx.Doc) {
	n, ok := needsOf(p.steps)
	if !ok {
		return nil, nil
	}
	return n.Projection()
}

// TopFields returns the names of the fields that the pipeline reads of its documents; all is true
// where it may read any.
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
