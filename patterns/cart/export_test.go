package cart

import (
	"context"

	"github.com/sheafdb/sheaf/patterns"
)

// Reserve reserves a line as it was in c, like a process that was asleep after it had changed the
// cart.
func (s *Shop) Reserve(ctx context.Context, c *Cart, sku string) (int, error) {
	return s.change(ctx, c, []Line{*c.line(sku)}, s.reserve)
}

// Free frees the reservation of a line, like a process that was asleep after it had removed the
// line from the cart.
func (s *Shop) Free(ctx context.Context, c *Cart, l Line) (int, error) {
	return s.change(ctx, c, []Line{l}, s.free)
}

// Push adds a line without reserving it.
func (s *Shop) Push(ctx context.Context, cart string, item Item, quantity int64) (*Cart, error) {
	return s.push(ctx, cart, item, quantity)
}

// Clock returns the clock of the shop.
func (s *Shop) Clock() patterns.Clock { return s.env.Clock }
