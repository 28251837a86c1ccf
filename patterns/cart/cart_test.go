package cart_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/cart"
	"github.com/sheafdb/sheaf/patterns/patterntest"
)

// designs are the policies that each test runs with.
var designs = map[string]cart.Policy{"on add": cart.OnAdd, "at checkout": cart.AtCheckout}

func eachDesign(t *testing.T, test func(t *testing.T, reserve cart.Policy)) {
	t.Helper()
	for name, reserve := range designs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, reserve)
		})
	}
}

var (
	a = cart.Item{SKU: "A", Name: "Simsong Mobile", Price: 1000}
	b = cart.Item{SKU: "B", Name: "JC Sneaker", Price: 100}
)

// openShop returns a shop with 19 of A and 5 of B.
func openShop(t testing.TB, db *mongo.Database, reserve cart.Policy, clock patterns.Clock) *cart.Shop {
	t.Helper()
	s, err := cart.New(db, cart.Config{Env: patterns.Env{Clock: clock}, Reserve: reserve})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if err := errors.Join(s.EnsureIndexes(ctx), s.Adjust(ctx, "A", 19), s.Adjust(ctx, "B", 5)); err != nil {
		t.Fatal(err)
	}
	return s
}

func mustHold(t testing.TB, s *cart.Shop) {
	t.Helper()
	violations, err := s.Check(context.Background())
	if err != nil || len(violations) > 0 {
		t.Fatalf("%v %v", violations, err)
	}
}

func wantErr(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%v, want %v", err, want)
	}
}

// wantStock compares the free, reserved and sold quantities of a product.
func wantStock(t testing.TB, s *cart.Shop, sku string, quantity, reserved, sold int64) {
	t.Helper()
	stock, err := s.Stock(context.Background(), sku)
	if err != nil {
		t.Fatal(err)
	}
	var sum int64
	for _, r := range stock.Reservations {
		sum += r.Quantity
	}
	if stock.Quantity != quantity || sum != reserved || stock.Sold != sold {
		t.Errorf("%s: %+v, want %d there, %d reserved, %d sold", sku, stock, quantity, reserved, sold)
	}
}

func wantState(t testing.TB, s *cart.Shop, id string, want cart.State) {
	t.Helper()
	if c, err := s.Cart(context.Background(), id); err != nil || c.State != want {
		t.Errorf("cart %s: %+v %v, want %s", id, c, err, want)
	}
}

// inCart returns the quantity of a product in a cart.
func inCart(t testing.TB, s *cart.Shop, id, sku string) int64 {
	t.Helper()
	c, err := s.Cart(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range c.Lines {
		if l.SKU == sku {
			return l.Quantity
		}
	}
	return 0
}

// TestApplied is the inventory of Applied Design Patterns: 19 pieces, of which carts 42 and 43 hold
// 1 and 2 (W100 to W104).
func TestApplied(t *testing.T) {
	t.Parallel()
	clock := patterntest.NewClock()
	s, ctx := openShop(t, patterntest.Open(t), cart.OnAdd, clock), t.Context()
	add := func(id string, n int64) error { return s.Add(ctx, id, a, n) }
	wantErr(t, errors.Join(add("42", 1), add("43", 2)), nil)
	wantStock(t, s, "A", 16, 3, 0)
	wantErr(t, add("44", 17), cart.ErrInsufficientStock)
	if n := inCart(t, s, "44", "A"); n != 0 {
		t.Errorf("%d are in the cart", n)
	}
	wantErr(t, add("44", 5), nil)
	wantStock(t, s, "A", 11, 8, 0)
	wantErr(t, s.Remove(ctx, "44", "A"), nil)
	// Change the quantity from one piece to three, and back to one.
	wantErr(t, s.SetQuantity(ctx, "42", "A", 3), nil)
	wantStock(t, s, "A", 14, 5, 0)
	wantErr(t, s.SetQuantity(ctx, "42", "A", 18), cart.ErrInsufficientStock)
	if n := inCart(t, s, "42", "A"); n != 3 {
		t.Errorf("%d are in the cart", n)
	}
	wantErr(t, s.SetQuantity(ctx, "42", "A", 1), nil)
	wantStock(t, s, "A", 16, 3, 0)
	mustHold(t, s)
	// Cart 43 is bought, and cart 42 expires.
	clock.Advance(20 * time.Minute)
	if _, err := s.Checkout(ctx, "43", nil, nil); err != nil {
		t.Fatal(err)
	}
	wantStock(t, s, "A", 16, 1, 2)
	clock.Advance(10 * time.Minute)
	// Cart 44 is empty, and expires too.
	for _, want := range []int64{2, 0} {
		if n, err := s.Repair(ctx); n != want || err != nil {
			t.Errorf("%d, want %d: %v", n, want, err)
		}
		wantStock(t, s, "A", 17, 0, 2)
	}
	wantState(t, s, "42", cart.Expired)
	wantState(t, s, "43", cart.Done)
	mustHold(t, s)
}

// TestLittle is the cart and the order of the Little book (W105, W106, W108).
func TestLittle(t *testing.T) {
	t.Parallel()
	eachDesign(t, func(t *testing.T, reserve cart.Policy) {
		clock := patterntest.NewClock()
		s, ctx := openShop(t, patterntest.Open(t), reserve, clock), t.Context()
		mobile := cart.Item{SKU: "111445GB3", Name: "Simsong Mobile", Price: 1000}
		wantErr(t, s.Adjust(ctx, mobile.SKU, 1000), nil)
		wantErr(t, s.Add(ctx, "1", mobile, 1), nil)
		c, err := s.Cart(ctx, "1")
		if err != nil || c.State != cart.Active || !c.Modified.Equal(clock.Now()) || len(c.Lines) != 1 ||
			c.Lines[0].Item != mobile || c.Lines[0].Quantity != 1 {
			t.Errorf("%+v %v", c, err)
		}
		if reserve == cart.OnAdd {
			wantStock(t, s, mobile.SKU, 999, 1, 0)
		} else {
			wantStock(t, s, mobile.SKU, 1000, 0, 0)
		}
		shipping := bson.D{{"name", "Joe Dow"}, {"address", "Some street 1, NY 11223"}}
		payment := bson.D{{"method", "visa"}, {"transaction_id", "2312213312XXXTD"}}
		paid := 0
		for range 2 {
			order, err := s.Checkout(ctx, "1", shipping, func(_ context.Context, c *cart.Cart) (any, error) {
				paid += int(c.Total())
				wantStock(t, s, mobile.SKU, 999, 1, 0)
				// The cart cannot change during the payment.
				wantErr(t, s.Add(ctx, "1", b, 1), cart.ErrInactive)
				wantErr(t, s.Remove(ctx, "1", mobile.SKU), cart.ErrInactive)
				wantErr(t, s.Cancel(ctx, "1"), cart.ErrInactive)
				return payment, nil
			})
			if err != nil || order.Total != 1000 || fmt.Sprint(order.Shipping) != fmt.Sprint(shipping) ||
				fmt.Sprint(order.Payment) != fmt.Sprint(payment) ||
				!slices.Equal(order.Lines, c.Lines) {
				t.Fatalf("%+v %v", order, err)
			}
		}
		if paid != 1000 {
			t.Errorf("paid %d", paid)
		}
		wantStock(t, s, mobile.SKU, 999, 0, 1)
		mustHold(t, s)
	})
}

// TestShort checks out a cart with two products, of which one is out of stock: nothing is sold, and
// the cart stays active (W107).
func TestShort(t *testing.T) {
	t.Parallel()
	s, ctx := openShop(t, patterntest.Open(t), cart.AtCheckout, nil), t.Context()
	none := cart.Item{SKU: "none", Price: 1}
	wantErr(t, errors.Join(s.Add(ctx, "1", b, 1), s.Add(ctx, "1", none, 1)), nil)
	_, err := s.Checkout(ctx, "1", nil, nil)
	wantErr(t, err, cart.ErrInsufficientStock)
	wantStock(t, s, "B", 5, 0, 0)
	wantState(t, s, "1", cart.Active)
	_, err = s.Order(ctx, "1")
	wantErr(t, err, cart.ErrNotFound)
	mustHold(t, s)
	wantErr(t, s.Remove(ctx, "1", "none"), nil)
	_, err = s.Checkout(ctx, "1", nil, nil)
	wantErr(t, err, nil)
	wantStock(t, s, "B", 4, 0, 1)
	mustHold(t, s)
}

func TestPaymentFails(t *testing.T) {
	t.Parallel()
	eachDesign(t, func(t *testing.T, reserve cart.Policy) {
		s, ctx := openShop(t, patterntest.Open(t), reserve, nil), t.Context()
		wantErr(t, s.Add(ctx, "1", b, 5), nil)
		broke := errors.New("no money")
		_, err := s.Checkout(ctx, "1", nil, func(context.Context, *cart.Cart) (any, error) { return nil, broke })
		wantErr(t, err, broke)
		wantState(t, s, "1", cart.Active)
		mustHold(t, s)
		for range 2 {
			wantErr(t, s.Cancel(ctx, "1"), nil)
		}
		wantStock(t, s, "B", 5, 0, 0)
		_, err = s.Checkout(ctx, "1", nil, nil)
		wantErr(t, err, cart.ErrInactive)
		mustHold(t, s)
	})
}

// TestPrices lowers the price of a product: carts and orders keep the price of the time when the
// product was added.
func TestPrices(t *testing.T) {
	t.Parallel()
	eachDesign(t, func(t *testing.T, reserve cart.Policy) {
		s, ctx := openShop(t, patterntest.Open(t), reserve, nil), t.Context()
		cheaper := b
		cheaper.Price = 80
		wantErr(t, errors.Join(s.Add(ctx, "1", b, 1), s.Add(ctx, "1", cheaper, 2), s.Add(ctx, "2", cheaper, 1)), nil)
		for id, want := range map[string]int64{"1": 300, "2": 80} {
			if order, err := s.Checkout(ctx, id, nil, nil); err != nil || order.Total != want {
				t.Errorf("%+v %v", order, err)
			}
		}
		wantStock(t, s, "B", 1, 0, 4)
		mustHold(t, s)
	})
}

func TestRefused(t *testing.T) {
	t.Parallel()
	eachDesign(t, func(t *testing.T, reserve cart.Policy) {
		db := patterntest.Open(t)
		s, ctx := openShop(t, db, reserve, nil), t.Context()
		for _, err := range []error{
			s.Add(ctx, "1", a, 0), s.Add(ctx, "1", a, -1), s.Add(ctx, "1", a, cart.MaxQuantity+1),
			s.Add(ctx, "1", cart.Item{}, 1),
			s.Add(ctx, "1", cart.Item{SKU: "A", Price: -1}, 1),
			s.SetQuantity(ctx, "1", "A", -1), s.Adjust(ctx, "A", 1<<60),
		} {
			wantErr(t, err, cart.ErrQuantity)
		}
		wantErr(t, s.Add(ctx, "1", a, 1), nil)
		wantErr(t, s.Add(ctx, "1", a, cart.MaxQuantity), cart.ErrQuantity)
		wantErr(t, s.SetQuantity(ctx, "1", "B", 1), cart.ErrNotFound)
		wantErr(t, s.SetQuantity(ctx, "2", "B", 1), cart.ErrNotFound)
		wantErr(t, s.Cancel(ctx, "2"), cart.ErrNotFound)
		wantErr(t, s.SetQuantity(ctx, "1", "A", 0), nil)
		wantErr(t, s.Remove(ctx, "1", "A"), cart.ErrNotFound)
		_, err := s.Checkout(ctx, "1", nil, nil)
		wantErr(t, err, cart.ErrEmpty)
		wantErr(t, s.Adjust(ctx, "A", -20), cart.ErrInsufficientStock)
		wantErr(t, s.Adjust(ctx, "A", -19), nil)
		wantStock(t, s, "A", 0, 0, 0)
		full := bson.D{{"$set", bson.D{{"lines", make([]cart.Line, cart.MaxLines)}}}}
		if _, err := db.Collection("carts").UpdateByID(ctx, "1", full); err != nil {
			t.Fatal(err)
		}
		wantErr(t, s.Add(ctx, "1", a, 1), cart.ErrFull)
		if _, err := cart.New(db, cart.Config{Reserve: 2}); err == nil {
			t.Error("an unknown policy is taken")
		}
		wantErr(t, s.Shard(ctx), patterns.ErrNotSharded)
	})
}

// TestTogether runs many customers who want more pieces than the stock has, while other goroutines
// repair.
func TestTogether(t *testing.T) {
	t.Parallel()
	eachDesign(t, func(t *testing.T, reserve cart.Policy) {
		const customers, rounds = 6, 8
		clock := patterntest.NewClock()
		s := openShop(t, patterntest.Open(t), reserve, clock)
		var wg sync.WaitGroup
		for w := range customers {
			random := rand.New(rand.NewPCG(uint64(w), 3))
			wg.Go(func() {
				for range rounds {
					// Some customers share a cart, like one customer with two windows.
					if err := visit(t.Context(), s, random, fmt.Sprint(random.IntN(customers*rounds/2))); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		// No product is oversold.
		for _, sku := range []string{"A", "B"} {
			if stock, err := s.Stock(t.Context(), sku); err != nil || stock.Quantity < 0 || stock.Sold > stock.Stock {
				t.Errorf("%+v %v", stock, err)
			}
		}
		// Two windows that change one line at the same time can leave a wrong reservation for the
		// line, until the line is changed or bought, or the cart ends.
		for range 2 {
			clock.Advance(time.Hour)
			if _, err := s.Repair(t.Context()); err != nil {
				t.Error(err)
			}
		}
		mustHold(t, s)
	})
}

// visit does random operations of a customer on a cart.
func visit(ctx context.Context, s *cart.Shop, random *rand.Rand, id string) error {
	item := []cart.Item{a, b}[random.IntN(2)]
	errs := []error{s.Add(ctx, id, item, 1+random.Int64N(3))}
	switch random.IntN(6) {
	case 0:
		errs = append(errs, s.SetQuantity(ctx, id, item.SKU, random.Int64N(4)))
	case 1:
		errs = append(errs, s.Remove(ctx, id, item.SKU))
	case 2:
		errs = append(errs, s.Cancel(ctx, id))
	case 3, 4:
		_, err := s.Checkout(ctx, id, nil, func(context.Context, *cart.Cart) (any, error) {
			if random.IntN(3) == 0 {
				// The payment fails.
				return nil, cart.ErrEmpty
			}
			return nil, nil
		})
		errs = append(errs, err)
	}
	_, err := s.Repair(ctx)
	errs = append(errs, err)
	for i, err := range errs {
		for _, expected := range []error{cart.ErrInsufficientStock, cart.ErrInactive, cart.ErrNotFound, cart.ErrEmpty} {
			if errors.Is(err, expected) {
				errs[i] = nil
			}
		}
	}
	return errors.Join(errs...)
}

func TestNoScans(t *testing.T) {
	t.Parallel()
	eachDesign(t, func(t *testing.T, reserve cart.Policy) {
		server := patterntest.Start(t)
		clock := patterntest.NewClock()
		openShop(t, server.Database(), reserve, clock)
		n := server.NoScans(t, func(ctx context.Context, db *mongo.Database) {
			s, err := cart.New(db, cart.Config{Env: patterns.Env{Clock: clock}, Reserve: reserve})
			err1 := errors.Join(err, s.Adjust(ctx, "A", 1), s.Add(ctx, "1", a, 1), s.Add(ctx, "1", a, 1),
				s.SetQuantity(ctx, "1", "A", 3))
			err2 := errors.Join(s.Add(ctx, "1", b, 1), s.Remove(ctx, "1", "B"), s.Add(ctx, "2", b, 1),
				s.Cancel(ctx, "2"), s.Add(ctx, "3", b, 1))
			_, err3 := s.Checkout(ctx, "1", nil, nil)
			clock.Advance(time.Hour)
			_, err4 := s.Repair(ctx)
			if err := errors.Join(err1, err2, err3, err4); err != nil {
				t.Error(err)
			}
		})
		if n < 20 {
			t.Errorf("%d commands were explained", n)
		}
	})
}

// TestCheck breaks each rule, and expects Check to find it.
func TestCheck(t *testing.T) {
	t.Parallel()
	set := func(field string, value any) bson.D {
		return bson.D{{"$set", bson.D{{field, value}}}}
	}
	twice := func(field string) mongo.Pipeline {
		return mongo.Pipeline{set(field, bson.D{{"$concatArrays", bson.A{"$" + field, "$" + field}}})}
	}
	for i, c := range []struct {
		collection, id string
		change         any
		want           string
	}{
		{"inventories", "A", set("quantity", 1), cart.RuleStock},
		{"inventories", "A", set("quantity", -1), cart.RuleStock},
		{"inventories", "A", set("reservations.0.quantity", 3), cart.RuleStock},
		{"inventories", "A", twice("reservations"), cart.RuleReservation},
		{"inventories", "A", set("sold", 7), cart.RuleSold},
		{"inventories", "A", set("reservations.0.cart", "done"), cart.RuleReservation},
		{"carts", "active", set("lines", bson.A{}), cart.RuleReservation},
		{"carts", "active", set("lines.0.quantity", 3), cart.RuleLine},
		{"inventories", "A", set("reservations", bson.A{}), cart.RuleLine},
		{"carts", "done", set("lines.0.sku", "nothing"), cart.RuleSold},
		{"carts", "done", set("lines.0.price", 3), cart.RuleOrder},
		{"carts", "done", set("state", "expired"), cart.RuleOrder},
		{"orders", "done", set("total", 0), cart.RuleOrder},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			db := patterntest.Open(t)
			s, ctx := openShop(t, db, cart.OnAdd, nil), t.Context()
			err1 := errors.Join(s.Add(ctx, "done", a, 2), s.Add(ctx, "active", a, 1))
			_, err2 := s.Checkout(ctx, "done", nil, nil)
			if err := errors.Join(err1, err2); err != nil {
				t.Fatal(err)
			}
			mustHold(t, s)
			if res, err := db.Collection(c.collection).
				UpdateByID(ctx, c.id, c.change); err != nil || res.ModifiedCount != 1 {
				t.Fatal(res, err)
			}
			violations, err := s.Check(ctx)
			if err != nil || !slices.ContainsFunc(violations,
				func(v patterns.Violation) bool { return v.Rule == c.want }) {
				t.Errorf("want %q: %v %v", c.want, violations, err)
			}
		})
	}
}

// TestCheckOrphans stores an order without a cart, and ends a cart that still has a reservation.
func TestCheckOrphans(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	s, ctx := openShop(t, db, cart.OnAdd, nil), t.Context()
	wantErr(t, s.Add(ctx, "left", a, 1), nil)
	end := bson.D{{"$set", bson.D{{"state", cart.Expired}}}, {"$unset", bson.D{{"deadline", ""}}}}
	_, err1 := db.Collection("carts").UpdateByID(ctx, "left", end)
	_, err2 := db.Collection("orders").InsertOne(ctx, cart.Order{ID: "none"})
	wantErr(t, errors.Join(err1, err2), nil)
	violations, err := s.Check(ctx)
	var rules []string
	for _, v := range violations {
		rules = append(rules, v.Rule)
	}
	slices.Sort(rules)
	if want := []string{cart.RuleOrder, cart.RuleReservation}; err != nil || !slices.Equal(rules, want) {
		t.Errorf("%v %v", violations, err)
	}
}
