package scenarios

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/cart"
	"github.com/sheafdb/sheaf/sim/scenario"
)

const cartDocuments = `

  products:    {_id: "product-7", name: "product 7", price: NumberLong(1700), text: "…"}
  inventories: {_id: "product-7", stock: …, quantity: …, sold: …, reservations: [{_id, cart: "cart-12", quantity: 1, …}]}
  carts:       {_id: "cart-12", state: "active", rev: 5, lines: [{hold, sku: "product-7", name, price, quantity: 1}, …], …}
  orders:      {_id: "cart-12", lines: […], total: …}`

func cartScenarios() []*scenario.Definition {
	items := whole("numberOfItems", "how many products a user puts into the cart", 5, 1, cart.MaxLines)
	products := whole("numberOfProducts", "how many products there are", 100, 1, 100_000)
	size := whole("sizeOfProductsInBytes", "how much text a product has", 1024, 0, 1<<20)
	stock := func(n int) scenario.Param {
		return whole("stock", "how many pieces there are of each product", n, 0, 1e9)
	}
	hold := scenario.Param{
		Name: "holdTime", Doc: "when an abandoned cart expires",
		Default: 5 * time.Second, Min: 0.001, Max: 86400,
	}
	var out []*scenario.Definition
	for _, d := range []struct {
		name, alias, how, when string
		reserve                cart.Policy
	}{
		{
			"cart-reserve", "cart_reservation_successful", "what is put into the cart is reserved at once",
			"when it is put into the cart", cart.OnAdd,
		},
		{
			"cart-checkout", "cart_no_reservation_successful", "what is in the cart is reserved when it is paid",
			"at the checkout", cart.AtCheckout,
		},
	} {
		define := func(suffix, title, doc string, leave bool, params ...scenario.Param) *scenario.Definition {
			return &scenario.Definition{
				Name: d.name + suffix, Group: "cart", Users: 1000, Title: title + ": " + d.how,
				Doc: doc + cartDocuments, Leaves: leave,
				Params: append([]scenario.Param{items, products, size}, params...),
				New:    func(env scenario.Env) (scenario.Scenario, error) { return newCarts(env, d.reserve, leave) },
			}
		}
		success := define("", "Buy what is in a cart", "A user looks at products at random, puts one piece of each into a cart, pays, and gets an order.", false, stock(1_000_000))
		success.Aliases = []string{d.alias}
		out = append(out, success,
			define("-failure", "Order more than the stock",
				"Like "+d.name+", but with so little stock that most users are refused "+d.when+
					". They give the cart up, which is not a failure; nothing may stay reserved.", false, stock(20)),
			define("-expiry", "Abandon a cart", "A user fills a cart as in "+d.name+
				", and abandons it. It expires; one user of 100 looks for expired carts. All reserved stock returns.", true, stock(1_000_000), hold))
	}
	return out
}

// carts implements the scenarios of package cart.
type carts struct {
	still
	cfg             cart.Config
	shop            *cart.Shop
	db              *mongo.Database
	items, products int
	size            int
	stock           int64
	leave           bool
	env             scenario.Env
}

func newCarts(env scenario.Env, reserve cart.Policy, leave bool) (scenario.Scenario, error) {
	s := &carts{
		cfg: cart.Config{Env: env.Patterns, Reserve: reserve}, db: env.DB, env: env, leave: leave,
		products: env.Params.Int("numberOfProducts"), size: env.Params.Int("sizeOfProductsInBytes"),
		stock: int64(env.Params.Int("stock")),
	}
	s.items = min(env.Params.Int("numberOfItems"), s.products)
	if leave {
		s.cfg.HoldTime = env.Params.Duration("holdTime")
	}
	var err error
	s.shop, err = cart.New(env.DB, s.cfg)
	return s, err
}

func productName(i int) string { return fmt.Sprintf("product-%d", i) }

// Setup implements scenario.Scenario.
func (s *carts) Setup(ctx context.Context) error {
	if err := s.shop.EnsureIndexes(ctx); err != nil {
		return err
	}
	random := s.env.Rand()
	err := fill(ctx, s.db.Collection("products"), s.products, func(i int) any {
		return bson.D{
			{"_id", productName(i)},
			{"name", fmt.Sprintf("product %d", i)},
			{"price", int64(100 + random.IntN(10_000))},
			{"text", letters(random, s.size)},
		}
	})
	if err != nil {
		return err
	}
	return fill(ctx, s.db.Collection("inventories"), s.products, func(i int) any {
		return cart.Stock{SKU: productName(i), Stock: s.stock, Quantity: s.stock, Reservations: []cart.Reservation{}}
	})
}

// Run implements scenario.Scenario.
func (s *carts) Run(ctx context.Context, u *scenario.User) error {
	id := fmt.Sprintf("cart-%d", u.Number)
	if s.leave && u.Number%sweepers == sweepers-1 {
		if err := sweep(ctx, u, s.shop.Repair); err != nil {
			return err
		}
	}
	err := s.fill(ctx, u, id)
	if err == nil && !s.leave {
		err = u.Time("checkout", func() error {
			_, err := s.shop.Checkout(ctx, id, nil,
				func(context.Context, *cart.Cart) (any, error) { return "paid", nil })
			return err
		})
	}
	switch {
	case anyOf(err, cart.ErrInsufficientStock):
		u.Count("refused", 1)
		if err := s.shop.Cancel(ctx, id); !anyOf(err, cart.ErrNotFound) {
			return err
		}
		return nil
	case s.leave && anyOf(err, cart.ErrInactive): // the cart has expired already
		u.Count("late", 1)
		return nil
	case err != nil:
		return err
	case s.leave:
		u.Count("left", 1)
		return nil
	}
	u.Count("orders", 1)
	u.Count("items", int64(s.items))
	return nil
}

// fill puts several different products into a cart.
func (s *carts) fill(ctx context.Context, u *scenario.User, id string) error {
	for _, n := range u.Rand.Perm(s.products)[:s.items] {
		item := cart.Item{}
		err := u.Time("look", func() error {
			return s.db.Collection("products").FindOne(ctx, bson.D{{"_id", productName(n)}}).Decode(&item)
		})
		if err != nil {
			return fmt.Errorf("look at a product: %w", err)
		}
		item.SKU = productName(n)
		if err := u.Time("add", func() error { return s.shop.Add(ctx, id, item, 1) }); err != nil {
			return err
		}
	}
	return nil
}

// Check implements scenario.Scenario.
func (s *carts) Check(ctx context.Context, t scenario.Tally) ([]patterns.Violation, error) {
	if s.leave || unsure(t, 1) > 0 {
		err := settled(ctx, s.env.Patterns, func(ctx context.Context, env patterns.Env) (int64, error) {
			cfg := s.cfg
			cfg.Env = env
			shop, err := cart.New(s.db, cfg)
			if err != nil {
				return 0, err
			}
			return shop.Repair(ctx)
		})
		if err != nil {
			return nil, err
		}
	}
	out, err := s.shop.Check(ctx)
	if err != nil {
		return nil, err
	}
	var there, sold int64
	if err := patterns.EachOf(ctx, s.db.Collection("inventories"),
		func(stock *cart.Stock) { there, sold = there+stock.Quantity, sold+stock.Sold }); err != nil {
		return nil, err
	}
	orders, err := countOf(ctx, s.db.Collection("orders"), bson.D{})
	if err != nil {
		return nil, err
	}
	expired, err := countOf(ctx, s.db.Collection("carts"), bson.D{{"state", cart.Expired}})
	if err != nil {
		return nil, err
	}
	out = append(out, counted("what was paid is an order", "orders", orders, t.Counts["orders"], unsure(t, 1))...)
	out = append(out, counted("what was paid is sold", "inventories", sold, t.Counts["items"], unsure(t, s.items))...)
	out = append(out, counted("what nobody has bought is in stock", "inventories", there,
		int64(s.products)*s.stock-sold, 0)...)
	return append(out, counted("what was left has expired", "carts", expired, t.Counts["left"],
		t.Counts["late"]+unsure(t, 1))...), nil
}
