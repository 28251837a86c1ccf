package seating_test

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
	"github.com/sheafdb/sheaf/patterns/patterntest"
	"github.com/sheafdb/sheaf/patterns/seating"
)

func newSeating(t testing.TB, db *mongo.Database, clock patterns.Clock) *seating.Seating {
	t.Helper()
	s, err := seating.New(db, seating.Config{Env: patterns.Env{Clock: clock}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// openHouse returns a theatre of 5 rows of 16 seats with two sessions at 10 a seat, and a small
// house with rows, aisles and prices of several kinds.
func openHouse(t testing.TB, db *mongo.Database, clock patterns.Clock) *seating.Seating {
	t.Helper()
	s, ctx := newSeating(t, db, clock), context.Background()
	row := "AAAAAAAAAAAAAAAA"
	one := map[string]int64{"A": 10}
	err := errors.Join(
		s.EnsureIndexes(ctx),
		s.AddLayout(ctx, seating.Layout{ID: "book", Plan: []string{row, row, row, row, row}}),
		s.AddLayout(ctx, seating.Layout{ID: "small", Plan: []string{"AA AA", "BBBBB", "", "B"}}),
		s.AddSession(ctx, seating.Session{ID: "s1", Layout: "book", Prices: one}),
		s.AddSession(ctx, seating.Session{ID: "s2", Layout: "book", Prices: one}),
		s.AddSession(ctx, seating.Session{ID: "small", Layout: "small", Prices: map[string]int64{"A": 50, "B": 30}}),
	)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustHold(t testing.TB, s *seating.Seating) {
	t.Helper()
	violations, err := s.Check(context.Background())
	if err != nil || len(violations) > 0 {
		t.Fatalf("%v %v", violations, err)
	}
}

func available(t testing.TB, s *seating.Seating, session string) int64 {
	t.Helper()
	show, err := s.Session(context.Background(), session)
	if err != nil {
		t.Fatal(err)
	}
	return show.SeatsAvailable
}

func wantErr(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%v, want %v", err, want)
	}
}

func wantState(t testing.TB, s *seating.Seating, cart string, want seating.State) {
	t.Helper()
	if c, err := s.Cart(context.Background(), cart); err != nil || c.State != want {
		t.Errorf("cart %s: %+v %v, want %s", cart, c, err, want)
	}
}

// TestReserve is the example of the book: two seats of the second row are reserved, and then
// released (W109, W110).
func TestReserve(t *testing.T) {
	t.Parallel()
	s, ctx := openHouse(t, patterntest.Open(t), nil), t.Context()
	h, err := s.Hold(ctx, "1", "s1", seating.Seat{1, 5}, seating.Seat{1, 6})
	if err != nil || h.Total != 20 {
		t.Fatal(h, err)
	}
	show, err := s.Session(ctx, "s1")
	if err != nil || show.SeatsAvailable != 78 || show.Seats[1][5] != 1 ||
		show.Seats[1][6] != 1 || show.Seats[1][7] != 0 {
		t.Errorf("%+v %v", show, err)
	}
	if r := show.Reservations; len(r) != 1 || r[0].Cart != "1" || r[0].Total != 20 || len(r[0].Seats) != 2 {
		t.Errorf("%+v", r)
	}
	for _, seats := range [][]seating.Seat{{{1, 5}, {1, 6}}, {{1, 6}, {1, 7}}} {
		_, err := s.Hold(ctx, "2", "s1", seats...)
		wantErr(t, err, seating.ErrTaken)
	}
	if n := available(t, s, "s1"); n != 78 {
		t.Error(n)
	}
	mustHold(t, s)
	// Cart 2 does not own the hold, so that nothing changes.
	wantErr(t, s.Release(ctx, "2", h), nil)
	if n := available(t, s, "s1"); n != 78 {
		t.Error(n)
	}
	for range 2 {
		wantErr(t, s.Release(ctx, "1", h), nil)
	}
	if show, err := s.Session(ctx, "s1"); err != nil || show.SeatsAvailable != 80 ||
		show.Seats[1][5] != 0 || len(show.Reservations) != 0 {
		t.Errorf("%+v %v", show, err)
	}
	mustHold(t, s)
}

// TestCart is the cart of the book: three seats at 10, which the customer gives up (W111).
func TestCart(t *testing.T) {
	t.Parallel()
	s, ctx := openHouse(t, patterntest.Open(t), nil), t.Context()
	_, err := s.Hold(ctx, "1", "s1", seating.Seat{1, 5}, seating.Seat{1, 6}, seating.Seat{1, 7})
	wantErr(t, err, nil)
	for range 2 {
		wantErr(t, s.Cancel(ctx, "1"), nil)
	}
	c, err := s.Cart(ctx, "1")
	if err != nil || c.State != seating.Canceled || c.Total != 30 || len(c.Holds) != 1 {
		t.Errorf("%+v %v", c, err)
	}
	if n := available(t, s, "s1"); n != 80 {
		t.Error(n)
	}
	_, err = s.Hold(ctx, "1", "s1", seating.Seat{1, 5})
	wantErr(t, err, seating.ErrInactive)
	_, err = s.Checkout(ctx, "1", nil)
	wantErr(t, err, seating.ErrInactive)
	wantErr(t, s.Cancel(ctx, "none"), seating.ErrNotFound)
	mustHold(t, s)
}

func TestCheckout(t *testing.T) {
	t.Parallel()
	s, ctx := openHouse(t, patterntest.Open(t), nil), t.Context()
	h, err := s.Hold(ctx, "1", "small", seating.Seat{0, 1}, seating.Seat{1, 1})
	if err != nil || h.Total != 80 {
		t.Fatal(h, err)
	}
	if _, err := s.Hold(ctx, "1", "s1", seating.Seat{0, 0}); err != nil {
		t.Fatal(err)
	}
	broke := errors.New("no money")
	_, err = s.Checkout(ctx, "1", func(context.Context, *seating.Cart) error { return broke })
	wantErr(t, err, broke)
	wantState(t, s, "1", seating.Active)
	paid := 0
	for range 2 {
		receipt, err := s.Checkout(ctx, "1", func(ctx context.Context, c *seating.Cart) error {
			paid += int(c.Total)
			// The cart cannot change during the payment.
			wantErr(t, s.Release(ctx, "1", h), seating.ErrInactive)
			_, err := s.Checkout(ctx, "1", nil)
			wantErr(t, err, seating.ErrInactive)
			return nil
		})
		if err != nil || receipt.Total != 90 || len(receipt.Holds) != 2 {
			t.Fatal(receipt, err)
		}
	}
	if paid != 90 {
		t.Errorf("paid %d", paid)
	}
	mustHold(t, s)
	wantErr(t, s.Release(ctx, "1", h), seating.ErrInactive)
	wantErr(t, s.Cancel(ctx, "1"), seating.ErrInactive)
	_, err = s.Hold(ctx, "2", "small", seating.Seat{0, 1})
	wantErr(t, err, seating.ErrTaken)
	for range 2 {
		wantErr(t, s.Return(ctx, "1"), nil)
	}
	if r, err := s.Receipt(ctx, "1"); err != nil || r.Returned.IsZero() {
		t.Errorf("%+v %v", r, err)
	}
	_, err = s.Hold(ctx, "2", "small", seating.Seat{0, 1})
	wantErr(t, err, nil)
	wantErr(t, s.Return(ctx, "2"), seating.ErrInactive)
	_, err = s.Checkout(ctx, "none", nil)
	wantErr(t, err, seating.ErrNotFound)
	mustHold(t, s)
}

func TestEmptyCart(t *testing.T) {
	t.Parallel()
	s, ctx := openHouse(t, patterntest.Open(t), nil), t.Context()
	h, err := s.Hold(ctx, "1", "s1", seating.Seat{0, 0})
	wantErr(t, err, nil)
	wantErr(t, s.Release(ctx, "1", h), nil)
	_, err = s.Checkout(ctx, "1", nil)
	wantErr(t, err, seating.ErrEmpty)
	wantState(t, s, "1", seating.Active)
}

func TestSeatsThatAreNone(t *testing.T) {
	t.Parallel()
	s, ctx := openHouse(t, patterntest.Open(t), nil), t.Context()
	for _, seats := range [][]seating.Seat{
		nil,
		{{0, 2}},
		{{2, 0}},
		{{3, 1}},
		{{4, 0}},
		{{-1, 0}},
		{{0, -1}},
		{{0, 0}, {0, 0}},
		{{0, 0}, {0, 2}},
	} {
		_, err := s.Hold(ctx, "1", "small", seats...)
		wantErr(t, err, seating.ErrTaken)
	}
	_, err := s.Hold(ctx, "1", "none", seating.Seat{0, 0})
	wantErr(t, err, seating.ErrNotFound)
	if n := available(t, s, "small"); n != 10 {
		t.Error(n)
	}
}

func TestLayouts(t *testing.T) {
	t.Parallel()
	s, ctx := openHouse(t, patterntest.Open(t), nil), t.Context()
	long := make([]byte, seating.MaxSeats+1)
	for i := range long {
		long[i] = 'A'
	}
	for _, plan := range [][]string{nil, {" ", ""}, {"A.A"}, {"$"}, {"é"}, {string(long)}} {
		wantErr(t, s.AddLayout(ctx, seating.Layout{ID: "x", Plan: plan}), seating.ErrPlan)
	}
	wantErr(t, s.AddLayout(ctx, seating.Layout{ID: "small", Plan: []string{"AA AA", "BBBBB", "", "B"}}), nil)
	wantErr(t, s.AddLayout(ctx, seating.Layout{ID: "small", Plan: []string{"A"}}), seating.ErrExists)
	wantErr(t, s.AddSession(ctx,
		seating.Session{ID: "x", Layout: "small", Prices: map[string]int64{"A": 1}}), seating.ErrPlan)
	wantErr(t, s.AddSession(ctx, seating.Session{ID: "x", Layout: "none"}), seating.ErrNotFound)
	wantErr(t, s.AddSession(ctx, seating.Session{ID: "s1", Layout: "book", Prices: map[string]int64{"A": 10}}), nil)
	wantErr(t, s.AddSession(ctx,
		seating.Session{ID: "s1", Layout: "book", Name: "x", Prices: map[string]int64{"A": 10}}), seating.ErrExists)
	if _, err := seating.New(patterntest.Open(t), seating.Config{HoldTime: -1}); err == nil {
		t.Error("a negative time is taken")
	}
	wantErr(t, s.Shard(ctx), patterns.ErrNotSharded)
}

// TestExpiry lets one cart expire and keeps another cart active by a new hold. The seats of the
// expired cart are free again.
func TestExpiry(t *testing.T) {
	t.Parallel()
	clock := patterntest.NewClock()
	s, ctx := openHouse(t, patterntest.Open(t), clock), t.Context()
	for i, cart := range []string{"old", "new"} {
		if _, err := s.Hold(ctx, cart, "s1", seating.Seat{0, int32(i)}); err != nil {
			t.Fatal(err)
		}
	}
	clock.Advance(20 * time.Minute)
	if _, err := s.Hold(ctx, "new", "s2", seating.Seat{0, 0}); err != nil {
		t.Fatal(err)
	}
	clock.Advance(10 * time.Minute)
	_, err := s.Hold(ctx, "old", "s1", seating.Seat{3, 3})
	// The cart has expired, although Repair has not run yet.
	wantErr(t, err, seating.ErrInactive)
	for _, want := range []int64{1, 0} {
		if n, err := s.Repair(ctx); n != want || err != nil {
			t.Errorf("%d, want %d: %v", n, want, err)
		}
	}
	wantState(t, s, "old", seating.Expired)
	wantState(t, s, "new", seating.Active)
	if n := available(t, s, "s1"); n != 79 {
		t.Error(n)
	}
	mustHold(t, s)
}

func TestBest(t *testing.T) {
	t.Parallel()
	s, ctx := openHouse(t, patterntest.Open(t), nil), t.Context()
	for _, c := range []struct {
		session string
		n       int
		zone    string
		want    []seating.Seat
		err     error
	}{
		{"s1", 2, "", []seating.Seat{{0, 7}, {0, 8}}, nil},
		// In the first row, only the seats at the sides are free.
		{"s1", 3, "A", []seating.Seat{{1, 6}, {1, 7}, {1, 8}}, nil},
		// An aisle divides the free seats.
		{"small", 3, "A", nil, seating.ErrNoneLeft},
		{"small", 2, "A", []seating.Seat{{0, 0}, {0, 1}}, nil},
		{"small", 3, "B", []seating.Seat{{1, 1}, {1, 2}, {1, 3}}, nil},
		{"small", 0, "", nil, seating.ErrNoneLeft},
		{"small", 6, "", nil, seating.ErrNoneLeft},
		{"none", 1, "", nil, seating.ErrNotFound},
	} {
		h, err := s.HoldBest(ctx, "1", c.session, c.n, c.zone)
		wantErr(t, err, c.err)
		if err == nil && !slices.Equal(h.Seats, c.want) {
			t.Errorf("%+v: %v", c, h.Seats)
		}
	}
	mustHold(t, s)
}

// TestTogether runs many customers who hold the best seats, release them, pay and leave, while
// other goroutines repair.
func TestTogether(t *testing.T) {
	t.Parallel()
	const customers, rounds = 8, 15
	db := patterntest.Open(t)
	s := openHouse(t, db, nil)
	var wg sync.WaitGroup
	for w := range customers {
		random := rand.New(rand.NewPCG(uint64(w), 2))
		wg.Go(func() {
			for i := range rounds {
				if err := visit(t.Context(), s, random, fmt.Sprint(w, "-", i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	mustHold(t, s)
}

// visit does random operations of a customer on a cart.
func visit(ctx context.Context, s *seating.Seating, random *rand.Rand, cart string) error {
	var last *seating.Hold
	var errs []error
	for range 1 + random.IntN(3) {
		h, err := s.HoldBest(ctx, cart, []string{"s1", "small"}[random.IntN(2)], 1+random.IntN(3), "")
		if h != nil {
			last = h
		}
		if !errors.Is(err, seating.ErrNoneLeft) && !errors.Is(err, seating.ErrTaken) {
			errs = append(errs, err)
		}
	}
	if last != nil {
		switch random.IntN(5) {
		case 0:
			errs = append(errs, s.Release(ctx, cart, last))
		case 1:
			errs = append(errs, s.Cancel(ctx, cart))
		case 2:
			_, err := s.Checkout(ctx, cart, nil)
			errs = append(errs, err)
		case 3:
			_, err := s.Checkout(ctx, cart, nil)
			errs = append(errs, err, s.Return(ctx, cart))
		}
	}
	_, err := s.Repair(ctx)
	return errors.Join(append(errs, err)...)
}

func TestNoScans(t *testing.T) {
	t.Parallel()
	server := patterntest.Start(t)
	clock := patterntest.NewClock()
	openHouse(t, server.Database(), clock)
	n := server.NoScans(t, func(ctx context.Context, db *mongo.Database) {
		s := newSeating(t, db, clock)
		h, err1 := s.Hold(ctx, "1", "s1", seating.Seat{0, 0})
		_, err2 := s.HoldBest(ctx, "1", "s2", 2, "A")
		err3 := s.Release(ctx, "1", h)
		_, err4 := s.Checkout(ctx, "1", nil)
		err5 := s.Return(ctx, "1")
		_, err6 := s.Hold(ctx, "2", "s1", seating.Seat{0, 0})
		err7 := s.Cancel(ctx, "2")
		_, err8 := s.Hold(ctx, "3", "s1", seating.Seat{0, 0})
		clock.Advance(time.Hour)
		_, err9 := s.Repair(ctx)
		if err := errors.Join(err1, err2, err3, err4, err5, err6, err7, err8, err9); err != nil {
			t.Error(err)
		}
	})
	if n < 25 {
		t.Errorf("%d commands were explained", n)
	}
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
		{"sessions", "s1", set("seatsAvailable", 80), seating.RuleAvailable},
		{"sessions", "s1", set("seats.0.0", 0), seating.RuleOwner},
		{"sessions", "s1", set("seats.4.4", 1), seating.RuleOwner},
		{"sessions", "s1", set("reservations.1.seats", bson.A{bson.A{0, 0}}), seating.RuleOwner},
		{"sessions", "s1", set("seats.0", bson.A{0, 0}), seating.RuleShape},
		{"layouts", "book", set("plan", bson.A{"A"}), seating.RuleShape},
		{"sessions", "s1", set("reservations.0.total", 11), seating.RuleTotal},
		{"carts", "active", set("total", 11), seating.RuleTotal},
		{"carts", "active", set("holds.0.total", 11), seating.RuleTotal},
		{"carts", "active", set("holds", bson.A{}), seating.RuleCart},
		{"carts", "done", set("state", "expired"), seating.RuleSold},
		{"sessions", "s1", set("reservations.0.sold", false), seating.RuleSold},
		{"sessions", "s1", twice("reservations"), seating.RuleCart},
		{"sessions", "s1", twice("reservations"), seating.RuleOwner},
		{"sessions", "s1", set("reservations.1.seats", bson.A{bson.A{0, 1}, bson.A{9, 9}}), seating.RuleTotal},
		{"carts", "active", twice("holds"), seating.RuleCart},
		{"receipts", "done", set("total", 0), seating.RuleReceipt},
		{"receipts", "done", set("holds.0.seats", bson.A{bson.A{0, 1}}), seating.RuleReceipt},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			db := patterntest.Open(t)
			s, ctx := openHouse(t, db, nil), t.Context()
			_, err1 := s.Hold(ctx, "done", "s1", seating.Seat{0, 0})
			_, err2 := s.Checkout(ctx, "done", nil)
			_, err3 := s.Hold(ctx, "active", "s1", seating.Seat{0, 1})
			if err := errors.Join(err1, err2, err3); err != nil {
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

// TestCheckOrphans stores a receipt without a cart, and ends a cart that still has seats.
func TestCheckOrphans(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	s, ctx := openHouse(t, db, nil), t.Context()
	_, err := s.Hold(ctx, "left", "s1", seating.Seat{0, 0})
	end := bson.D{{"$set", bson.D{{"state", seating.Expired}}}, {"$unset", bson.D{{"deadline", ""}}}}
	_, err1 := db.Collection("carts").UpdateByID(ctx, "left", end)
	_, err2 := db.Collection("receipts").InsertOne(ctx, seating.Receipt{ID: "none"})
	wantErr(t, errors.Join(err, err1, err2), nil)
	violations, err := s.Check(ctx)
	var rules []string
	for _, v := range violations {
		rules = append(rules, v.Rule)
	}
	slices.Sort(rules)
	if want := []string{seating.RuleReceipt, seating.RuleCart}; err != nil || !slices.Equal(rules, want) {
		t.Errorf("%v %v", violations, err)
	}
}
