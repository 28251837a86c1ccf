package seating

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/patterns"
)

// Name adds a hold to a cart, without taking the seats. It is the first half of Hold.
func (s *Seating) Name(ctx context.Context, cart, session string, total int64, seats ...Seat) (*Hold, error) {
	h := &Hold{ID: bson.NewObjectID(), Session: session, Seats: seats, Total: total}
	return h, s.name(ctx, cart, *h)
}

// Take takes the seats of a hold. It is the second half of Hold.
func (s *Seating) Take(ctx context.Context, cart string, h *Hold) (bool, error) {
	return s.take(ctx, cart, *h)
}

// Clock returns the clock of the Config.
func (s *Seating) Clock() patterns.Clock { return s.env.Clock }
