package cart_test

import (
	"fmt"
	"testing"

	"github.com/sheafdb/sheaf/patterns/cart"
	"github.com/sheafdb/sheaf/patterns/patterntest"
)

// BenchmarkCart buys five of a hundred products, like the workload of the Little book.
func BenchmarkCart(b *testing.B) {
	const products, lines = 100, 5
	for name, reserve := range designs {
		b.Run(name, func(b *testing.B) {
			s, ctx := openShop(b, patterntest.Open(b), reserve, nil), b.Context()
			for i := range products {
				if err := s.Adjust(ctx, fmt.Sprint(i), cart.MaxQuantity); err != nil {
					b.Fatal(err)
				}
			}
			for n := 0; b.Loop(); n++ {
				id := cart.NewID()
				for i := range lines {
					if err := s.Add(ctx, id,
						cart.Item{SKU: fmt.Sprint((n*lines + i) % products), Price: 100}, 1); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := s.Checkout(ctx, id, nil, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
