package ttl

// SetTurn changes how many records a target checks in one turn.
func (m *Monitor) SetTurn(docs int) { m.turnDocs = docs }
