package lock_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/patterns/lock"
)

// A job must run on one machine at a time.
func ExampleLocks_Do() {
	ctx := context.Background()
	store, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	db := store.Client().Database("shop")

	locks, err := lock.New(db, lock.Config{})
	if err != nil {
		log.Fatal(err)
	}
	err = locks.Do(ctx, "nightly-report", func(ctx context.Context, lease *lock.Lease) error {
		fmt.Println("reporting, token", lease.Token())
		_, err := locks.Acquire(ctx, "nightly-report")
		fmt.Println("meanwhile another one hears:", errors.Is(err, lock.ErrHeld))
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// reporting, token 1
	// meanwhile another one hears: true
}

// A holder that slept while its lease ended cannot overwrite the work of the next holder.
func ExampleLease_Guard() {
	ctx := context.Background()
	db, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	locks, err := lock.New(db.Client().Database("shop"), lock.Config{})
	if err != nil {
		log.Fatal(err)
	}
	prices := db.Client().Database("shop").Collection("prices")
	if _, err := prices.InsertOne(ctx, bson.D{{"_id", "tea"}}); err != nil {
		log.Fatal(err)
	}
	set := func(lease *lock.Lease, price int) {
		when, fence := lease.Guard("fence")
		res, err := prices.UpdateOne(ctx, append(when, bson.E{"_id", "tea"}),
			bson.D{{"$set", append(fence, bson.E{"price", price})}})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("token", lease.Token(), "changes", res.ModifiedCount)
	}
	var leases []*lock.Lease
	for range 2 {
		lease, err := locks.Acquire(ctx, "prices")
		if err != nil {
			log.Fatal(err)
		}
		if err := lease.Release(ctx); err != nil { // as if the lease had expired
			log.Fatal(err)
		}
		leases = append(leases, lease)
	}
	set(leases[1], 5)
	set(leases[0], 4)
	// Output:
	// token 2 changes 1
	// token 1 changes 0
}

// A basket knows its total and its number of kinds, without a lock.
func ExampleTallies() {
	ctx := context.Background()
	db, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	baskets, err := lock.NewTallies(db.Client().Database("shop"), lock.TallyConfig{})
	if err != nil {
		log.Fatal(err)
	}
	for kind, n := range map[string]int64{"apples": 20, "oranges": 3} {
		if _, err := baskets.Add(ctx, "basket-7", kind, n); err != nil {
			log.Fatal(err)
		}
	}
	basket, err := baskets.Add(ctx, "basket-7", "bananas", 3)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(basket.Total, "of", basket.Kinds, "kinds")
	_, err = baskets.Add(ctx, "basket-7", "apples", -21)
	fmt.Println("too many:", errors.Is(err, lock.ErrNegative))
	// Output:
	// 26 of 3 kinds
	// too many: true
}

// The sum of an order changes in the same update as its lines.
func ExampleLines() {
	ctx := context.Background()
	db, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	orders, err := lock.NewLines(db.Client().Database("shop"), lock.LinesConfig{Collection: "orders"})
	if err != nil {
		log.Fatal(err)
	}
	for _, sku := range []string{"tea", "milk", "tea"} {
		if err := orders.Add(ctx, 1, sku, 2); err != nil {
			log.Fatal(err)
		}
	}
	var order struct {
		Items []struct {
			SKU string `bson:"sku"`
			Qty int    `bson:"qty"`
		} `bson:"items"`
		Total int `bson:"total"`
	}
	if err := db.Client().Database("shop").Collection("orders").FindOne(ctx, bson.D{}).Decode(&order); err != nil {
		log.Fatal(err)
	}
	fmt.Println(order)
	// Output: {[{tea 4} {milk 2}] 6}
}
