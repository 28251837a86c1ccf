package lock_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/patterns/lock"
)

// A job that must run on one machine at a time.
func ExampleLocks_Do() {
	db, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	locks, err := lock.New(db.Client().Database("shop"), lock.Config{})
	if err != nil {
		log.Fatal(err)
	}
	err = locks.Do(context.Background(), "nightly-report", func(ctx context.Context, lease *lock.Lease) error {
		fmt.Println("reporting, token", lease.Token())
		_, err := locks.Acquire(ctx, "nightly-report")
		fmt.Println("meanwhile another one hears:", errors.Is(err, lock.ErrHeld))
		return nil
	})
	fmt.Println(err)
	// Output:
	// reporting, token 1
	// meanwhile another one hears: true
	// <nil>
}
