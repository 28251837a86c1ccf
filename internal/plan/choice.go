package plan

// choice is the outcome of planning: the candidates in order, the winner first.
type choice struct {
	cq         *canonical
	candidates []*candidate
	cached     bool
	key        []byte // of the plan cache; nil where there was one candidate
	shape      []byte // what key begins with
	room       [1]*candidate
}

// winner returns the plan that runs.
func (c *choice) winner() *candidate { return c.candidates[0] }

// closeLosers releases the candidates but the winner.
func (c *choice) closeLosers() {
	for _, l := range c.candidates[1:] {
		l.root.Close()
	}
}
