package exec

import "context"

// EOF is the plan of a query that can have no result.
type EOF struct{ base }

// NewEOF returns a node without rows.
func NewEOF(env *Env) *EOF { return &EOF{base{env: env}} }

// Next implements Node.
func (n *EOF) Next(context.Context) (*Row, error) { return n.end() }
