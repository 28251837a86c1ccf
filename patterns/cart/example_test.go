package cart_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/cart"
	"github.com/sheafdb/sheaf/patterns/patterntest"
)

// Two customers want the last lamp. The customer who puts it into the cart first gets it.
func Example() {
	ctx := context.Background()
	store, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	db := store.Client().Database("shop")

	shop, err := cart.New(db, cart.Config{})
	if err != nil {
		log.Fatal(err)
	}
	if err := errors.Join(shop.EnsureIndexes(ctx), shop.Adjust(ctx, "lamp", 1)); err != nil {
		log.Fatal(err)
	}
	lamp := cart.Item{SKU: "lamp", Name: "Desk lamp", Price: 39_90}
	if err := shop.Add(ctx, "anna", lamp, 1); err != nil {
		log.Fatal(err)
	}
	err = shop.Add(ctx, "joe", lamp, 1)
	fmt.Println("Joe is late:", errors.Is(err, cart.ErrInsufficientStock))

	order, err := shop.Checkout(ctx, "anna", "Some street 1", func(_ context.Context, c *cart.Cart) (any, error) {
		return fmt.Sprintf("visa, %d cents for %s", c.Total(), c.ID), nil
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(order.Lines[0].Name, order.Total, order.Payment)
	// Output:
	// Joe is late: true
	// Desk lamp 3990 visa, 3990 cents for anna
}

// Two customers want the last lamp. The customer who pays first gets it.
func Example_atCheckout() {
	shop, end := openExample()
	defer end()
	ctx := context.Background()
	lamp := cart.Item{SKU: "lamp", Name: "Desk lamp", Price: 39_90}
	for _, name := range []string{"anna", "joe"} {
		if err := shop.Add(ctx, name, lamp, 1); err != nil {
			log.Fatal(err)
		}
	}
	order, err := shop.Checkout(ctx, "joe", nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("Joe pays", order.Total)
	_, err = shop.Checkout(ctx, "anna", nil, nil)
	fmt.Println("Anna is late:", errors.Is(err, cart.ErrInsufficientStock))
	// Output:
	// Joe pays 3990
	// Anna is late: true
}

// openExample returns a shop with one lamp. The shop reserves stock at the checkout.
func openExample() (*cart.Shop, func()) {
	db, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	shop, err := cart.New(db.Client().Database("shop"), cart.Config{Reserve: cart.AtCheckout})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	if err := errors.Join(shop.EnsureIndexes(ctx), shop.Adjust(ctx, "lamp", 1)); err != nil {
		log.Fatal(err)
	}
	return shop, func() { _ = db.Close() }
}

// The pieces of an abandoned cart go back to the stock: Repair ends the cart when it has expired.
func ExampleShop_Repair() {
	db, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	clock := patterntest.NewClock()
	shop, err := cart.New(db.Client().Database("shop"),
		cart.Config{Env: patterns.Env{Clock: clock}, HoldTime: time.Hour})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	err = errors.Join(shop.EnsureIndexes(ctx), shop.Adjust(ctx, "lamp", 1),
		shop.Add(ctx, "anna", cart.Item{SKU: "lamp", Price: 39_90}, 1))
	if err != nil {
		log.Fatal(err)
	}
	clock.Advance(2 * time.Hour)
	n, err := shop.Repair(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(n, "ended")
	stock, err := shop.Stock(ctx, "lamp")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(stock.Quantity, "in stock")
	c, err := shop.Cart(ctx, "anna")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.State)
	// Output:
	// 1 ended
	// 1 in stock
	// expired
}
