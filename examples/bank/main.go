// Command bank moves money between accounts. It pays wages, sends one transfer twice and many
// transfers concurrently, posts a part of a hold, and undoes a transfer. It demonstrates
// patterns/ledger.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/examples/internal/demo"
	"github.com/sheafdb/sheaf/patterns/ledger"
)

func main() { demo.Main("bank", run) }

func run(ctx context.Context, out io.Writer, db *mongo.Database) error {
	bank, err := ledger.New(db, ledger.Config{})
	if err != nil {
		return err
	}
	if err := open(ctx, bank); err != nil {
		return err
	}
	for _, step := range []func(context.Context, io.Writer, *ledger.Ledger) error{rent, crowd, hotel, undo} {
		if err := step(ctx, out, bank); err != nil {
			return err
		}
		if err := show(ctx, out, bank); err != nil {
			return err
		}
	}
	return demo.Check(ctx, out, "ledger", bank)
}

// open opens the accounts and pays joe's wages. The money comes from the account world, which has
// no lower limit.
func open(ctx context.Context, bank *ledger.Ledger) error {
	err := errors.Join(
		bank.EnsureIndexes(ctx),
		bank.Open(ctx, ledger.Account{ID: "world", Currency: "EUR", Floor: ledger.NoFloor}),
		bank.Open(ctx, ledger.Account{ID: "joe", Currency: "EUR"}),
		bank.Open(ctx, ledger.Account{ID: "ann", Currency: "EUR"}),
	)
	if err != nil {
		return err
	}
	_, err = bank.Transfer(ctx, "wages", euros("world", "joe", 1000_00))
	return err
}

func euros(from, to string, amount ledger.Amount) ledger.Move {
	return ledger.Move{From: from, To: to, Amount: amount, Currency: "EUR"}
}

func show(ctx context.Context, out io.Writer, bank *ledger.Ledger) error {
	for _, id := range []string{"joe", "ann"} {
		a, err := bank.Account(ctx, id)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "  %s has %s and can spend %s\n", id, a.Balance.Format(2), a.Available().Format(2))
	}
	return nil
}

// rent sends the same transfer twice. The ledger executes it once.
func rent(ctx context.Context, out io.Writer, bank *ledger.Ledger) error {
	for range 2 {
		t, err := bank.Transfer(ctx, "rent-5", euros("joe", "ann", 400_00))
		if err != nil {
			return err
		}
		fmt.Fprintln(out, "rent of 400.00:", t.State)
	}
	return nil
}

// crowd sends twenty transfers of 50.00 concurrently. The balance of joe suffices for twelve of
// them.
func crowd(ctx context.Context, out io.Writer, bank *ledger.Ledger) error {
	errs := make([]error, 20)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { _, errs[i] = bank.Transfer(ctx, fmt.Sprintf("gift-%d", i), euros("joe", "ann", 50_00)) })
	}
	wg.Wait()
	done, refused := 0, 0
	for _, err := range errs {
		switch {
		case err == nil:
			done++
		case errors.Is(err, ledger.ErrInsufficientFunds):
			refused++
		default:
			return err
		}
	}
	fmt.Fprintf(out, "twenty gifts of 50.00 at once: %d done, %d refused\n", done, refused)
	return nil
}

// hotel reserves 300.00 of ann's money, and later takes 220.00 of it.
func hotel(ctx context.Context, out io.Writer, bank *ledger.Ledger) error {
	if _, err := bank.Hold(ctx, "room-12", 72*time.Hour, euros("ann", "joe", 300_00)); err != nil {
		return err
	}
	fmt.Fprintln(out, "a hold of 300.00")
	if err := show(ctx, out, bank); err != nil {
		return err
	}
	if _, err := bank.PostPart(ctx, "room-12", 220_00); err != nil {
		return err
	}
	fmt.Fprintln(out, "220.00 of it are taken")
	return nil
}

// undo reverses the transfer of the rent.
func undo(ctx context.Context, out io.Writer, bank *ledger.Ledger) error {
	t, err := bank.Undo(ctx, "rent-5")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, t.ID+":", t.State)
	return nil
}
