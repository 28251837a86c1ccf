package seating_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/patterns/seating"
)

// Three friends want to sit together, and pay.
func Example() {
	ctx := context.Background()
	store, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	db := store.Client().Database("booking")

	small := seating.Layout{ID: "small", Plan: []string{
		"AAA AAA",
		"BBBBBBB",
		" BBBBB ",
	}}
	// The prices of the zones A and B.
	prices := map[string]int64{"A": 50_00, "B": 30_00}
	macbeth := seating.Session{ID: "macbeth-1", Layout: "small", Prices: prices}

	house, err := seating.New(db, seating.Config{})
	if err != nil {
		log.Fatal(err)
	}
	err = errors.Join(house.EnsureIndexes(ctx), house.AddLayout(ctx, small), house.AddSession(ctx, macbeth))
	if err != nil {
		log.Fatal(err)
	}
	hold, err := house.HoldBest(ctx, "cart-7", "macbeth-1", 3, "B")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("seats", hold.Seats)
	_, err = house.Hold(ctx, "cart-8", "macbeth-1", seating.Seat{1, 4}, seating.Seat{1, 5})
	fmt.Println("another one hears:", errors.Is(err, seating.ErrTaken))
	receipt, err := house.Checkout(ctx, "cart-7", func(_ context.Context, c *seating.Cart) error {
		fmt.Println("charge", c.Total, "for", c.ID)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	show, err := house.Session(ctx, "macbeth-1")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("sold for", receipt.Total, "and left:", show.SeatsAvailable)
	// Output:
	// seats [[1 2] [1 3] [1 4]]
	// another one hears: true
	// charge 9000 for cart-7
	// sold for 9000 and left: 15
}
