package trial

import "github.com/sheafdb/sheaf/internal/plan/canonical"

// Choice is the result of a trial: the candidate plans of a query, the winner first.
type Choice struct {
	Query      *canonical.Query
	Candidates []*Candidate
	Cached     bool
	Key        []byte // key in the plan cache; nil if there was only one candidate
	Shape      []byte // the shape, a prefix of Key
	Room       [1]*Candidate
}

// Winner returns the plan that runs.
func (c *Choice) Winner() *Candidate { return c.Candidates[0] }

// CloseLosers closes all candidates except the winner.
func (c *Choice) CloseLosers() {
	for _, l := range c.Candidates[1:] {
		l.Root.Close()
	}
}
