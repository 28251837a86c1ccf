package cart

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/internal/carts"
)

// These are the rules whose violations Check lists.
const (
	RuleStock       = "the stock is the sum of available, reserved and sold pieces"
	RuleSold        = "the sold pieces are the pieces that finished carts have bought"
	RuleReservation = "a reservation agrees with a line of the cart that it names"
	RuleLine        = "what an active cart has is reserved"
	RuleOrder       = "a finished cart has its order"
)

// audit is the state of one call of Check.
type audit struct {
	*Shop
	stocks   map[string]*Stock
	reserved map[bson.ObjectID]*reserved
	sold     map[string]int64
	orders   map[string]*Order
	carts.Violations
}

// reserved is a reservation with its product. named is set if a cart names the reservation.
type reserved struct {
	Reservation
	sku   string
	named bool
}

// Check reads all documents and lists the violations of the rules. No operation should run
// meanwhile, and Repair should have ended all expired carts: until then, a dead process can leave a
// line with a wrong reservation. Check keeps all stocks and orders in memory.
func (s *Shop) Check(ctx context.Context) ([]patterns.Violation, error) {
	a := &audit{
		Shop: s, stocks: map[string]*Stock{}, reserved: map[bson.ObjectID]*reserved{},
		sold: map[string]int64{}, orders: map[string]*Order{},
	}
	err := patterns.EachOf(ctx, s.inventories, a.stock)
	if err == nil {
		err = patterns.EachOf(ctx, s.orders, func(o *Order) { a.orders[o.ID] = o })
	}
	if err == nil {
		err = patterns.EachOf(ctx, s.carts, a.cart)
	}
	if err != nil {
		return nil, err
	}
	for _, r := range a.reserved {
		if !r.named {
			a.Report(RuleReservation, s.cfg.Inventories, r.sku, "cart %s does not name %v", r.Cart, r.ID)
		}
	}
	for sku, stock := range a.stocks {
		if stock.Sold != a.sold[sku] {
			a.Report(RuleSold, s.cfg.Inventories, sku, "%d are sold, %d were bought", stock.Sold, a.sold[sku])
		}
		delete(a.sold, sku)
	}
	for sku, n := range a.sold {
		a.Report(RuleSold, s.cfg.Inventories, sku, "%d were bought of a product without stock", n)
	}
	for id := range a.orders {
		a.Report(RuleOrder, s.cfg.Orders, id, "there is no finished cart")
	}
	return a.Violations, nil
}

func (a *audit) stock(s *Stock) {
	a.stocks[s.SKU] = s
	total := s.Quantity + s.Sold
	for _, r := range s.Reservations {
		total += r.Quantity
		if other := a.reserved[r.ID]; other != nil {
			a.Report(RuleReservation, a.cfg.Inventories, s.SKU,
				"reservation %v is there twice: also of %s", r.ID, other.sku)
		}
		a.reserved[r.ID] = &reserved{Reservation: r, sku: s.SKU}
	}
	if total != s.Stock || s.Quantity < 0 {
		a.Report(RuleStock, a.cfg.Inventories, s.SKU, "%+v", *s)
	}
}

func (a *audit) cart(c *Cart) {
	order := a.orders[c.ID]
	delete(a.orders, c.ID)
	switch {
	case c.State == Done && (order != nil || c.Deadline.IsZero()):
		if order == nil || order.Total != c.Total() || !slices.Equal(order.Lines, c.Lines) {
			a.Report(RuleOrder, a.cfg.Carts, c.ID, "order %+v of cart %+v", order, c)
		}
	case order != nil:
		a.Report(RuleOrder, a.cfg.Carts, c.ID, "it is %s and has an order", c.State)
	}
	for _, l := range c.Lines {
		a.line(c, l)
	}
}

func (a *audit) line(c *Cart, l Line) {
	r := a.reserved[l.Hold]
	if r != nil && r.Cart == c.ID && r.sku == l.SKU && c.names(l.Hold) {
		r.named = true
	}
	switch {
	case c.State == Done && (r == nil || c.Deadline.IsZero()):
		a.sold[l.SKU] += l.Quantity
	case c.State == Done && r.Quantity != l.Quantity:
		a.Report(RuleSold, a.cfg.Carts, c.ID, "%d of %s are reserved of %d", r.Quantity, l.SKU, l.Quantity)
	case c.State == Active && a.cfg.Reserve == OnAdd && (r == nil || r.Quantity != l.Quantity):
		a.Report(RuleLine, a.cfg.Carts, c.ID, "%d of %s: %+v", l.Quantity, l.SKU, r)
	}
}
