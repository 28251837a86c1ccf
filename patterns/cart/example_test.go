package cart_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/patterns/cart"
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
