package memory

import "context"

// Tally adds up the bytes of many small parts, such as the parts of a compiled statement, and
// counts them in steps. Only one goroutine at a time may use it.
type Tally struct{ rest int64 }

// Add counts n bytes, which may be negative, until the operation of ctx ends. Less than a Step is
// never counted. Add fails with ExceededMemoryLimit.
func (t *Tally) Add(ctx context.Context, n int64) error {
	if t.rest += n; t.rest < Step && t.rest > -Step {
		return nil
	}
	n, t.rest = t.rest, 0
	return Of(ctx).Add(n)
}
