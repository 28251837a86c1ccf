package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/patterns/ledger"
)

// open returns a ledger with two customers and the account "world", from which their money comes.
func open() (*ledger.Ledger, func() error) {
	db, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	bank, err := ledger.New(db.Client().Database("bank"), ledger.Config{})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	err = errors.Join(
		bank.EnsureIndexes(ctx),
		bank.Open(ctx, ledger.Account{ID: "world", Currency: "USD", Floor: ledger.NoFloor}),
		bank.Open(ctx, ledger.Account{ID: "joe", Currency: "USD"}),
		bank.Open(ctx, ledger.Account{ID: "peter", Currency: "USD"}),
	)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := bank.Transfer(ctx, "wages",
		ledger.Move{From: "world", To: "joe", Amount: 1000_00, Currency: "USD"}); err != nil {
		log.Fatal(err)
	}
	return bank, db.Close
}

// show prints the balance of each account and the amount that it can spend.
func show(bank *ledger.Ledger, ids ...string) {
	for _, id := range ids {
		a, err := bank.Account(context.Background(), id)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %s, can spend %s\n", id, a.Balance.Format(2), (a.Available() - a.Floor).Format(2))
	}
}

// Joe pays his rent.
func Example() {
	ctx := context.Background()
	store, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	db := store.Client().Database("bank")

	bank, err := ledger.New(db, ledger.Config{})
	if err != nil {
		log.Fatal(err)
	}
	err = errors.Join(
		bank.EnsureIndexes(ctx),
		bank.Open(ctx, ledger.Account{ID: "joe", Currency: "USD", Opening: 1000_00}),
		bank.Open(ctx, ledger.Account{ID: "peter", Currency: "USD"}),
	)
	if err != nil {
		log.Fatal(err)
	}
	rent := ledger.Move{From: "joe", To: "peter", Amount: 100_00, Currency: "USD"}
	if _, err := bank.Transfer(ctx, "rent-5", rent); err != nil { // sent again, it happens once
		log.Fatal(err)
	}
	show(bank, "joe", "peter")
	// Output:
	// joe: 900.00, can spend 900.00
	// peter: 100.00, can spend 100.00
}

// A transfer that is sent twice happens once. A transfer that exceeds the balance changes nothing.
func ExampleLedger_Transfer() {
	bank, end := open()
	defer func() { _ = end() }()
	for range 2 {
		t, err := bank.Transfer(context.Background(), "rent-5",
			ledger.Move{From: "joe", To: "peter", Amount: 100_00, Currency: "USD"})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(t.State)
	}
	_, err := bank.Transfer(context.Background(), "car",
		ledger.Move{From: "joe", To: "peter", Amount: 2000_00, Currency: "USD"})
	fmt.Println("too dear:", errors.Is(err, ledger.ErrInsufficientFunds))
	show(bank, "joe", "peter")
	// Output:
	// done
	// done
	// too dear: true
	// joe: 900.00, can spend 900.00
	// peter: 100.00, can spend 100.00
}

// A hotel reserves an amount when a guest arrives, and takes part of it when the guest leaves.
func ExampleLedger_Hold() {
	bank, end := open()
	defer func() { _ = end() }()
	ctx := context.Background()
	if _, err := bank.Hold(ctx, "room-12", 72*time.Hour,
		ledger.Move{From: "joe", To: "peter", Amount: 300_00, Currency: "USD"}); err != nil {
		log.Fatal(err)
	}
	show(bank, "joe", "peter")
	if _, err := bank.PostPart(ctx, "room-12", 220_00); err != nil {
		log.Fatal(err)
	}
	show(bank, "joe", "peter")
	// Output:
	// joe: 1000.00, can spend 700.00
	// peter: 0.00, can spend 0.00
	// joe: 780.00, can spend 780.00
	// peter: 220.00, can spend 220.00
}

// Undo makes a second transfer in the opposite direction. Both transfers stay in the history.
func ExampleLedger_Undo() {
	bank, end := open()
	defer func() { _ = end() }()
	ctx := context.Background()
	if _, err := bank.Transfer(ctx, "rent-5",
		ledger.Move{From: "joe", To: "peter", Amount: 100_00, Currency: "USD"}); err != nil {
		log.Fatal(err)
	}
	time.Sleep(2 * time.Millisecond) // the history is ordered by commit time, in milliseconds
	if _, err := bank.Undo(ctx, "rent-5"); err != nil {
		log.Fatal(err)
	}
	for e, err := range bank.History(ctx, "peter", time.Time{}, time.Now().Add(time.Hour)) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Transfer.ID, e.Amount.Format(2), e.Balance.Format(2))
	}
	// Output:
	// rent-5 100.00 100.00
	// undo:rent-5 -100.00 0.00
}

// Several moves of one transfer happen together. This one exchanges dollars for euros through the
// bank's own accounts.
func ExampleLedger_Transfer_linked() {
	bank, end := open()
	defer func() { _ = end() }()
	ctx := context.Background()
	err := errors.Join(
		bank.Open(ctx, ledger.Account{ID: "exchange USD", Currency: "USD"}),
		bank.Open(ctx, ledger.Account{ID: "exchange EUR", Currency: "EUR", Opening: 5000_00}),
		bank.Open(ctx, ledger.Account{ID: "joe EUR", Currency: "EUR"}),
	)
	if err != nil {
		log.Fatal(err)
	}
	_, err = bank.Transfer(ctx, "holidays",
		ledger.Move{From: "joe", To: "exchange USD", Amount: 500_00, Currency: "USD"},
		ledger.Move{From: "exchange EUR", To: "joe EUR", Amount: 460_00, Currency: "EUR"})
	if err != nil {
		log.Fatal(err)
	}
	show(bank, "joe", "joe EUR")
	// Output:
	// joe: 500.00, can spend 500.00
	// joe EUR: 460.00, can spend 460.00
}
