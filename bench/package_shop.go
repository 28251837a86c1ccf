package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns/cart"
	"github.com/sheafdb/sheaf/patterns/ledger"
	"github.com/sheafdb/sheaf/patterns/seating"
)

// fillWith inserts n documents whose Go type a package of patterns/ defines.
func fillWith[T any](ctx context.Context, c *mongo.Collection, n int, document func(i int) T) error {
	return inBatches(n, func(from, to int) error {
		batch := make([]T, 0, to-from)
		for i := from; i < to; i++ {
			batch = append(batch, document(i))
		}
		_, err := c.InsertMany(ctx, batch)
		return err
	})
}

// useCart fills a cart and checks it out with package cart.
func useCart(policy cart.Policy) mongoPattern {
	return func(ctx context.Context, db *mongo.Database) (*routine, error) {
		shop, err := cart.New(db, cart.Config{Reserve: policy})
		if err != nil {
			return nil, err
		}
		if err := shop.EnsureIndexes(ctx); err != nil {
			return nil, err
		}
		return repeat(func(ctx context.Context, w *worker) error {
			id := strconv.FormatInt(w.ids.Add(1), 10)
			for _, p := range basket(w) {
				item := cart.Item{SKU: strconv.FormatInt(p, 10), Name: fmt.Sprintf("product %d", p), Price: p % 100}
				if err := shop.Add(ctx, id, item, 1); err != nil {
					return err
				}
			}
			_, err := shop.Checkout(ctx, id, "by post", nil)
			return err
		}), fillWith(ctx, db.Collection("inventories"), products, stockOf)
	}
}

func stockOf(i int) cart.Stock {
	return cart.Stock{SKU: strconv.Itoa(i), Stock: plenty, Quantity: plenty, Reservations: []cart.Reservation{}}
}

// hall returns the layout of the seats of every session.
func hall() seating.Layout {
	l := seating.Layout{ID: "hall"}
	for range seatRows {
		l.Plan = append(l.Plan, strings.Repeat("A", seatsInRow))
	}
	return l
}

func sessionOf(i int) seating.Session {
	s := seating.Session{
		ID: strconv.Itoa(i), Layout: "hall", Name: "Action Movie 5",
		Prices: map[string]int64{"A": 10}, Plan: hall().Plan,
		SeatsAvailable: seatRows * seatsInRow, Reservations: []seating.Reservation{},
	}
	for range seatRows {
		s.Seats = append(s.Seats, make([]int32, seatsInRow))
	}
	return s
}

// useSeating holds seats with package seating.
func useSeating(ctx context.Context, db *mongo.Database) (*routine, error) {
	house, err := seating.New(db, seating.Config{})
	if err != nil {
		return nil, err
	}
	if err := house.EnsureIndexes(ctx); err != nil {
		return nil, err
	}
	if err := house.AddLayout(ctx, hall()); err != nil {
		return nil, err
	}
	return repeat(func(ctx context.Context, w *worker) error {
		id, session, row, first, err := nextSeats(w)
		if err != nil {
			return err
		}
		var seats []seating.Seat
		for s := first; s < first+seatsTogether; s++ {
			seats = append(seats, seating.Seat{int32(row), int32(s)})
		}
		_, err = house.Hold(ctx, strconv.FormatInt(id, 10), strconv.FormatInt(session, 10), seats...)
		return err
	}), fillWith(ctx, db.Collection("sessions"), sessions, sessionOf)
}

func accountOf(i int) ledger.Account {
	return ledger.Account{
		ID: strconv.Itoa(i), Currency: "USD", Opening: ledger.Amount(plenty), Balance: ledger.Amount(plenty),
		Ceiling: ledger.NoCeiling, Pending: []bson.ObjectID{},
	}
}

// useLedger transfers money with package ledger.
func useLedger(ctx context.Context, db *mongo.Database) (*routine, error) {
	bank, err := ledger.New(db, ledger.Config{})
	if err != nil {
		return nil, err
	}
	if err := bank.EnsureIndexes(ctx); err != nil {
		return nil, err
	}
	return repeat(func(ctx context.Context, w *worker) error {
		from, to := pair(w)
		_, err := bank.Transfer(ctx, strconv.FormatInt(w.ids.Add(1), 10), ledger.Move{
			From: strconv.FormatInt(from, 10), To: strconv.FormatInt(to, 10),
			Amount: ledger.Amount(amount), Currency: "USD",
		})
		return err
	}), fillWith(ctx, db.Collection("accounts"), accounts, accountOf)
}
