// Command theatre sells seats. Three friends get adjacent seats, nine people want seats in the
// front row at the same time, and the friends return their seats. It demonstrates patterns/seating.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/examples/internal/demo"
	"github.com/sheafdb/sheaf/patterns/seating"
)

func main() { demo.Main("theatre", run) }

const macbeth = "macbeth-1"

func run(ctx context.Context, out io.Writer, db *mongo.Database) error {
	house, err := seating.New(db, seating.Config{})
	if err != nil {
		return err
	}
	err = errors.Join(
		house.EnsureIndexes(ctx),
		house.AddLayout(ctx, seating.Layout{ID: "small", Plan: []string{
			"AAA AAA",
			"BBBBBBB",
			" BBBBB ",
		}}),
		house.AddSession(ctx, seating.Session{
			ID: macbeth, Layout: "small",
			Prices: map[string]int64{"A": 50_00, "B": 30_00},
		}),
	)
	if err != nil {
		return err
	}
	for _, step := range []func(context.Context, io.Writer, *seating.Seating) error{friends, crowd, returned} {
		if err := step(ctx, out, house); err != nil {
			return err
		}
		if err := show(ctx, out, house); err != nil {
			return err
		}
	}
	return demo.Check(ctx, out, "seating", house)
}

func show(ctx context.Context, out io.Writer, house *seating.Seating) error {
	s, err := house.Session(ctx, macbeth)
	if err != nil {
		return err
	}
	for _, row := range s.Seats {
		line := []byte("  ")
		for _, seat := range row {
			line = append(line, map[int32]byte{0: '.', 1: 'x', -1: ' '}[seat])
		}
		fmt.Fprintf(out, "%s\n", bytes.TrimRight(line, " "))
	}
	fmt.Fprintln(out, "  free:", s.SeatsAvailable)
	return nil
}

// friends holds three adjacent seats, and pays for them.
func friends(ctx context.Context, out io.Writer, house *seating.Seating) error {
	hold, err := house.HoldBest(ctx, "friends", macbeth, 3, "B")
	if err != nil {
		return err
	}
	_, err = house.Hold(ctx, "late", macbeth, hold.Seats[0])
	fmt.Fprintln(out, "friends hold", hold.Seats, "and another one hears that one is taken:",
		errors.Is(err, seating.ErrTaken))
	receipt, err := house.Checkout(ctx, "friends", func(_ context.Context, c *seating.Cart) error {
		fmt.Fprintln(out, "charge", c.Total)
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "sold for", receipt.Total)
	return nil
}

// crowd lets nine people buy a seat in the front row at the same time. The row has six seats.
func crowd(ctx context.Context, out io.Writer, house *seating.Seating) error {
	errs := make([]error, 9)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			cart := fmt.Sprintf("visitor-%d", i)
			if _, errs[i] = house.HoldBest(ctx, cart, macbeth, 1, "A"); errs[i] == nil {
				_, errs[i] = house.Checkout(ctx, cart, nil)
			}
		})
	}
	wg.Wait()
	sat, none := 0, 0
	for _, err := range errs {
		switch {
		case err == nil:
			sat++
		case errors.Is(err, seating.ErrNoneLeft):
			none++
		default:
			return err
		}
	}
	fmt.Fprintf(out, "nine people at once: %d have a seat, for %d none is left\n", sat, none)
	return nil
}

// returned returns the seats of the friends.
func returned(ctx context.Context, out io.Writer, house *seating.Seating) error {
	fmt.Fprintln(out, "the friends return their seats")
	return house.Return(ctx, "friends")
}
