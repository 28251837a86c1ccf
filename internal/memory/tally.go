package memory

// Tally adds up the bytes of many small parts, such as those of a compiled statement, so that they
// are counted in steps. It is used by one goroutine at a time.
type Tally struct{ rest int64 }

// Take adds n bytes, which may be negative, and returns how many are to be counted now: 0 unless they
// come to a Step.
func (t *Tally) Take(n int64) int64 {
	if t.rest += n; t.rest < Step && t.rest > -Step {
		return 0
	}
	n, t.rest = t.rest, 0
	return n
}
