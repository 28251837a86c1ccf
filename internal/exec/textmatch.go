package exec

import (
	"context"

	"github.com/sheafdb/sheaf/internal/text"
)

// TextMatch yields the rows whose documents match the parts of a text search that the terms in the
// index cannot decide: phrases, negations and exact spelling.
type TextMatch struct {
	base
	spec  *text.Spec
	query *text.Query
	exact bool
}

// NewTextMatch returns a node over rows whose documents contain at least one of the query's terms.
func NewTextMatch(env *Env, in Node, s *text.Spec, q *text.Query) *TextMatch {
	return &TextMatch{base: base{env: env, inputs: []Node{in}}, spec: s, query: q, exact: q.IsExact()}
}

// Next implements Node.
func (n *TextMatch) Next(ctx context.Context) (*Row, error) {
	for {
		row, err := n.inputs[0].Next(ctx)
		if err != nil {
			return nil, err
		}
		if row == nil {
			return n.end()
		}
		if n.exact || n.query.MatchRest(n.spec, row.Doc) {
			return n.emit(row)
		}
		n.stats.DocsRejected++
	}
}

// IsEOF implements Node.
func (n *TextMatch) IsEOF() bool { return n.stats.IsEOF || n.inputs[0].IsEOF() }
