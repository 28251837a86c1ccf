package exec

import "context"

// EOF is the plan of a query that can have no result.
type EOF struct {
	base
	isScan bool
}

// NewEOF returns a node without rows.
func NewEOF(env *Env) *EOF { return &EOF{base: base{env: env}} }

// NewEmptyScan returns a node for a scan of no keys, which does not know that it has no rows before it is asked for one.
func NewEmptyScan(env *Env) *EOF { return &EOF{base: base{env: env}, isScan: true} }

// Next implements Node.
func (n *EOF) Next(context.Context) (*Row, error) { return n.end() }
