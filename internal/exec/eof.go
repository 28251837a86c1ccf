package exec

import "context"

// EOF is a node without rows, for queries that cannot match anything.
type EOF struct {
	base
	isScan bool
}

// NewEOF returns a node without rows.
func NewEOF(env *Env) *EOF { return &EOF{base: base{env: env}} }

// NewEmptyScan returns a node for a scan of an empty range of keys. As with other scans, IsEOF is
// false until Next has been called.
func NewEmptyScan(env *Env) *EOF { return &EOF{base: base{env: env}, isScan: true} }

// Next implements Node.
func (n *EOF) Next(context.Context) (*Row, error) { return n.end() }

// IsEOF implements Node.
func (n *EOF) IsEOF() bool { return n.stats.IsEOF || !n.isScan }
