package trial

import "github.com/sheafdb/sheaf/internal/plan/canonical"

// Choice is the result of a trial: the candidate plans of a query, the winner first.
type Choice struct {
	Query      *canonical.Query
	Candidates []*Candidate
	Cached     bool
	Key        []byte // of the plan cache; nil if there was only one candidate
	Shape      []byte // the beginning of Key
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
