package seating

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/internal/carts"
)

// These are the rules whose violations Check lists.
const (
	RuleAvailable = "seatsAvailable is the number of free seats"
	RuleOwner     = "a seat that is taken has exactly one reservation"
	RuleShape     = "a session has the seats of its layout"
	RuleTotal     = "a total is the sum of the prices of its seats"
	RuleCart      = "a reservation is in the cart that it names"
	RuleSold      = "what a finished cart has bought is sold to it"
	RuleReceipt   = "a finished cart has its receipt"
)

// audit is the state of one call of Check.
type audit struct {
	*Seating
	layouts  map[string]*Layout
	sessions map[string]*Session
	holds    map[bson.ObjectID]where
	receipts map[string]*Receipt
	carts.Violations
}

// where is a reservation with its session. inCart is set if a cart has the reservation.
type where struct {
	session     string
	reservation *Reservation
	inCart      bool
}

// Check reads all documents and lists the violations of the rules. No operation should run
// meanwhile, and Repair should have run: a dead process can leave reservations that are in no cart.
// Check keeps all sessions in memory.
func (s *Seating) Check(ctx context.Context) ([]patterns.Violation, error) {
	a := &audit{
		Seating: s, layouts: map[string]*Layout{}, sessions: map[string]*Session{}, holds: map[bson.ObjectID]where{},
		receipts: map[string]*Receipt{},
	}
	err := patterns.EachOf(ctx, s.layouts, func(l *Layout) { a.layouts[l.ID] = l })
	if err == nil {
		err = patterns.EachOf(ctx, s.sessions, a.session)
	}
	if err == nil {
		err = patterns.EachOf(ctx, s.receipts, func(r *Receipt) { a.receipts[r.ID] = r })
	}
	if err == nil {
		err = patterns.EachOf(ctx, s.carts, a.cart)
	}
	if err != nil {
		return nil, err
	}
	for id, w := range a.holds {
		if !w.inCart {
			a.Report(RuleCart, s.cfg.Sessions, w.session, "cart %s has no hold %v", w.reservation.Cart, id)
		}
	}
	for id := range a.receipts {
		a.Report(RuleReceipt, s.cfg.Receipts, id, "there is no finished cart")
	}
	return a.Violations, nil
}

func (a *audit) session(s *Session) {
	a.sessions[s.ID] = s
	layout := a.layouts[s.Layout]
	if want, _ := empty(s.Plan); layout == nil || !slices.Equal(layout.Plan, s.Plan) || !sameShape(want, s.Seats) {
		a.Report(RuleShape, a.cfg.Sessions, s.ID, "plan %q of layout %s, seats %v", s.Plan, s.Layout, s.Seats)
		return
	}
	owners := map[Seat]int{}
	for i := range s.Reservations {
		r := &s.Reservations[i]
		if other, twice := a.holds[r.ID]; twice {
			a.Report(RuleCart, a.cfg.Sessions, s.ID, "reservation %v is there twice: also in %s", r.ID, other.session)
		}
		a.holds[r.ID] = where{session: s.ID, reservation: r}
		for _, seat := range r.Seats {
			owners[seat]++
		}
		if total, err := s.price(r.Seats); err != nil || total != r.Total {
			a.Report(RuleTotal, a.cfg.Sessions, s.ID, "reservation %v: %d, want %d, %v", r.ID, r.Total, total, err)
		}
	}
	available := int64(0)
	for r, row := range s.Seats {
		for c, is := range row {
			n := owners[Seat{int32(r), int32(c)}]
			if is == free {
				available++
			}
			if is == taken && n != 1 || is != taken && n != 0 {
				a.Report(RuleOwner, a.cfg.Sessions, s.ID,
					"seat %d in row %d is %d and has %d reservations", c, r, is, n)
			}
		}
	}
	if available != s.SeatsAvailable {
		a.Report(RuleAvailable, a.cfg.Sessions, s.ID, "%d, want %d", s.SeatsAvailable, available)
	}
}

// sameShape reports whether two plans have seats in the same places.
func sameShape(a, b [][]int32) bool {
	return slices.EqualFunc(a, b, func(a, b []int32) bool {
		return slices.EqualFunc(a, b,
			func(a, b int32) bool { return (a == gap) == (b == gap) && b >= gap && b <= taken })
	})
}

func (a *audit) cart(c *Cart) {
	total := int64(0)
	for _, h := range c.Holds {
		total += h.Total
		a.hold(c, h)
	}
	if total != c.Total {
		a.Report(RuleTotal, a.cfg.Carts, c.ID, "%d, want %d", c.Total, total)
	}
	receipt := a.receipts[c.ID]
	delete(a.receipts, c.ID)
	switch {
	case c.State == Done && c.ended() || c.State == Returned:
		if receipt == nil || receipt.Total != c.Total || !slices.EqualFunc(receipt.Holds, c.Holds, sameHold) {
			a.Report(RuleReceipt, a.cfg.Carts, c.ID, "receipt %+v of cart %+v", receipt, c)
		}
	case receipt != nil && c.State != Done:
		a.Report(RuleReceipt, a.cfg.Carts, c.ID, "it is %s and has a receipt", c.State)
	}
}

func sameHold(a, b Hold) bool {
	return a.ID == b.ID && a.Session == b.Session && a.Total == b.Total && slices.Equal(a.Seats, b.Seats)
}

func (a *audit) hold(c *Cart, h Hold) {
	w, there := a.holds[h.ID]
	there = there && w.session == h.Session && w.reservation.Cart == c.ID && slices.Equal(w.reservation.Seats, h.Seats)
	if there && w.inCart {
		a.Report(RuleCart, a.cfg.Carts, c.ID, "it has hold %v twice", h.ID)
	}
	if there && (c.owns(h.ID) || !c.ended()) {
		w.inCart = true
		a.holds[h.ID] = w
		if w.reservation.Total != h.Total {
			a.Report(RuleTotal, a.cfg.Carts, c.ID, "hold %v: %d, reserved for %d", h.ID, h.Total, w.reservation.Total)
		}
	}
	if c.State == Done && (!there || c.ended() && !w.reservation.Sold) ||
		there && w.reservation.Sold && c.State != Done && c.State != Returned {
		a.Report(RuleSold, a.cfg.Carts, c.ID,
			"hold %v of a cart that is %s: reservation %+v", h.ID, c.State, w.reservation)
	}
}
