package trial

import "github.com/sheafdb/sheaf/internal/plan/canonical"

// Choice is the outcome of planning: the candidates in order, the winner first.
type Choice struct {
	Query      *canonical.Query
	Candidates []*Candidate
	Cached     bool
	Key        []byte // of the plan cache; nil where there was one candidate
	Shape      []byte // what key begins with
	Room       [1]*Candidate
}

// Winner returns the plan that runs.
func (c *Choice) Winner() *Candidate { return c.Candidates[0] }

// CloseLosers releases the candidates but the winner.
func (c *Choice) CloseLosers() {
	for _, l := range c.Candidates[1:] {
		l.Root.Close()
	}
}
