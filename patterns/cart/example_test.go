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

// Two customers want the last lamp: who puts it into the cart has it.
func Example() {
	shop, end := openExample(cart.OnAdd)
	defer end()
	ctx := context.Background()
	lamp := cart.Item{SKU: "lamp", Name: "Desk lamp", Price: 39_90}
	fmt.Println("Anna:", shop.Add(ctx, "anna", lamp, 1))
	fmt.Println("Joe is late:", errors.Is(shop.Add(ctx, "joe", lamp, 1), cart.ErrInsufficientStock))
	order, err := shop.Checkout(ctx, "anna", "Some street 1", func(_ context.Context, c *cart.Cart) (any, error) {
		return fmt.Sprintf("visa, %d cents for %s", c.Total(), c.ID), nil
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(order.Lines[0].Name, order.Total, order.Payment)
	// Output:
	// Anna: <nil>
	// Joe is late: true
	// Desk lamp 3990 visa, 3990 cents for anna
}

// Two customers want the last lamp: who pays has it.
func Example_atCheckout() {
	shop, end := openExample(cart.AtCheckout)
	defer end()
	ctx := context.Background()
	lamp := cart.Item{SKU: "lamp", Name: "Desk lamp", Price: 39_90}
	for _, name := range []string{"anna", "joe"} {
		fmt.Println(name, shop.Add(ctx, name, lamp, 1))
	}
	_, err := shop.Checkout(ctx, "joe", nil, nil)
	fmt.Println("Joe:", err)
	_, err = shop.Checkout(ctx, "anna", nil, nil)
	fmt.Println("Anna is late:", errors.Is(err, cart.ErrInsufficientStock))
	// Output:
	// anna <nil>
	// joe <nil>
	// Joe: <nil>
	// Anna is late: true
}

// openExample returns a shop with one lamp.
func openExample(reserve cart.Policy) (*cart.Shop, func()) {
	db, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	shop, err := cart.New(db.Client().Database("shop"), cart.Config{Reserve: reserve})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	if err := errors.Join(shop.EnsureIndexes(ctx), shop.Adjust(ctx, "lamp", 1)); err != nil {
		log.Fatal(err)
	}
	return shop, func() { _ = db.Close() }
}

// What is left in a cart comes back when its time is over: Repair, or Run, looks after that.
func ExampleShop_Repair() {
	db, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	clock := patterntest.NewClock()
	shop, err := cart.New(db.Client().Database("shop"), cart.Config{Env: patterns.Env{Clock: clock}, HoldTime: time.Hour})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	err = errors.Join(shop.EnsureIndexes(ctx), shop.Adjust(ctx, "lamp", 1), shop.Add(ctx, "anna", cart.Item{SKU: "lamp", Price: 39_90}, 1))
	if err != nil {
		log.Fatal(err)
	}
	clock.Advance(2 * time.Hour)
	n, err := shop.Repair(ctx)
	fmt.Println(n, "ended", err)
	stock, err := shop.Stock(ctx, "lamp")
	fmt.Println(stock.Quantity, "in stock", err)
	c, err := shop.Cart(ctx, "anna")
	fmt.Println(c.State, err)
	// Output:
	// 1 ended <nil>
	// 1 in stock <nil>
	// expired <nil>
}
