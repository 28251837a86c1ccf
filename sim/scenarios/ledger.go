package scenarios

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/ledger"
	"github.com/sheafdb/sheaf/sim/scenario"
)

const ledgerDocuments = `

  accounts:  {_id: "account-3", currency: "USD", opening: …, balance: …, outgoing: …, incoming: …, floor: 0, ceiling: …, pending: […], fences: […]}
  transfers: {_id: "transfer-17", state: "done", run, moves: [{from: "account-3", to: "account-8", amount: 100, currency: "USD"}], legs: […], …}`

// These are the steps at which a transfer can fail.
const (
	stepFunds       = "funds"
	stepDestination = "destination"
	stepCancel      = "cancel"
	stepStore       = "store"
	stepReserve     = "reserve"
	stepAnywhere    = "anywhere"
)

func ledgerScenarios() []*scenario.Definition {
	shared := func() []scenario.Param {
		return []scenario.Param{
			whole("initialAccountSum", "the balance of each account at first, in cents",
				1_000_000, 0, 1_000_000_000_000),
			whole("transactionSize", "amount of a transfer, in cents", 100, 1, 1_000_000_000),
			whole("numberOfAccounts", "how many accounts there are", 1000, 2, 1_000_000),
			choice("design", "whether accounts are changed one after the other, or in a transaction of the server", "twophase", "transaction"),
		}
	}
	return []*scenario.Definition{{
		Name: "transfer", Aliases: []string{"account_transaction_successful"}, Group: "ledger", Users: 1000,
		Title: "Transfer money between two accounts",
		Doc: `A user transfers an amount from one account to another, both chosen at random. A transfer without enough money is refused, which is not a failure. The sum
of all accounts stays the same.` + ledgerDocuments,
		Params: shared(), New: newTransfers,
	}, {
		Name: "transfer-failure", Group: "ledger", Users: 1000, Leaves: true,
		Title: "Begin transfers that do not complete",
		Doc: `A user begins a transfer between two accounts chosen at random. The transfer does not complete, for the reason that the parameter step gives:

    funds        the account does not have enough money: the transfer is refused
  destination  the other account does not exist: the transfer is refused
  cancel       the amount is reserved, and returned
  store        the user disappears when the transfer is stored
  reserve      the user disappears when the amounts are reserved
  anywhere     the user disappears at a random moment

Repair finishes the transfers that the last three leave: one user of 100 calls it. In the end, no transfer is pending, and the sum of all accounts is the
same. With design transaction and step anywhere, a user can leave a transaction that the server ends after a minute; until then, others wait for its accounts.` +
			ledgerDocuments,
		Params: append(shared(),
			choice("step", "where the transfer ends", stepReserve, stepStore, stepAnywhere,
				stepFunds, stepDestination, stepCancel),
			scenario.Param{
				Name: "timeout", Doc: "how long a transfer is pending before others end it",
				Default: time.Second, Min: 0.001, Max: 3600,
			},
			scenario.Param{
				Name: "patience", Doc: "of step anywhere: a user disappears within this time",
				Default: 5 * time.Millisecond, Min: 0.0001, Max: 3600,
			},
		), New: newTransfers,
	}}
}

// transfers implements the scenarios of package ledger.
type transfers struct {
	still
	cfg      ledger.Config
	ledger   *ledger.Ledger
	db       *mongo.Database
	env      scenario.Env
	accounts int
	initial  ledger.Amount
	size     ledger.Amount
	step     string // the step at which transfers fail; empty if they succeed
	patience time.Duration
}

func newTransfers(env scenario.Env) (scenario.Scenario, error) {
	p := env.Params
	s := &transfers{
		cfg: ledger.Config{Env: env.Patterns, Transactions: p.String("design") == "transaction"}, db: env.DB, env: env,
		accounts: p.Int("numberOfAccounts"), initial: ledger.Amount(p.Int("initialAccountSum")),
		size: ledger.Amount(p.Int("transactionSize")),
	}
	if _, fails := p["step"]; fails {
		s.step, s.cfg.Timeout, s.patience = p.String("step"), p.Duration("timeout"), p.Duration("patience")
	}
	var err error
	s.ledger, err = ledger.New(env.DB, s.cfg)
	return s, err
}

func accountName(i int) string { return fmt.Sprintf("account-%d", i) }

// Setup implements scenario.Scenario.
func (s *transfers) Setup(ctx context.Context) error {
	if err := s.ledger.EnsureIndexes(ctx); err != nil {
		return err
	}
	return fill(ctx, s.db.Collection("accounts"), s.accounts, func(i int) any {
		return bson.D{
			{"_id", accountName(i)},
			{"currency", "USD"},
			{"opening", int64(s.initial)},
			{"balance", int64(s.initial)},
			{"outgoing", int64(0)},
			{"incoming", int64(0)},
			{"floor", int64(0)},
			{"ceiling", int64(ledger.NoCeiling)},
			{"closed", false},
			{"pending", bson.A{}},
			{"fences", bson.A{}},
		}
	})
}

// Run implements scenario.Scenario.
func (s *transfers) Run(ctx context.Context, u *scenario.User) error {
	id := fmt.Sprintf("transfer-%d", u.Number)
	from := u.Rand.IntN(s.accounts)
	move := ledger.Move{
		From: accountName(from), To: accountName((from + 1 + u.Rand.IntN(s.accounts-1)) % s.accounts),
		Amount: s.size, Currency: "USD",
	}
	if s.step == "" {
		_, err := s.ledger.Transfer(ctx, id, move)
		return s.outcome(u, err)
	}
	if u.Number%sweepers == sweepers-1 {
		if err := sweep(ctx, u, s.ledger.Repair); err != nil {
			return err
		}
	}
	return s.fail(ctx, u, id, move)
}

// outcome counts the result of a transfer that was not interrupted.
func (s *transfers) outcome(u *scenario.User, err error) error {
	if anyOf(err, ledger.ErrInsufficientFunds, ledger.ErrNoAccount) {
		u.Count("refused", 1)
		return nil
	}
	// The transfer took so long that another user has ended it.
	if s.step != "" && anyOf(err, ledger.ErrInterrupted) {
		u.Count("interrupted", 1)
		return nil
	}
	if err == nil {
		u.Count("transferred", 1)
	}
	return err
}

// fail begins a transfer that fails at the configured step.
func (s *transfers) fail(ctx context.Context, u *scenario.User, id string, move ledger.Move) error {
	switch s.step {
	case stepFunds:
		move.Amount = s.initial*ledger.Amount(s.accounts) + 1
	case stepDestination:
		move.To = "nobody"
	case stepCancel:
		if _, err := s.ledger.Hold(ctx, id, 0, move); err != nil {
			return s.outcome(u, err)
		}
		u.Count("canceled", 1)
		return s.ledger.Cancel(ctx, id)
	default:
		return s.interrupt(ctx, u, id, move)
	}
	_, err := s.ledger.Transfer(ctx, id, move)
	if err == nil {
		return fmt.Errorf("transfer %s was not refused", id)
	}
	return s.outcome(u, err)
}

// interrupt executes a transfer whose user disappears before it ends.
func (s *transfers) interrupt(ctx context.Context, u *scenario.User, id string, move ledger.Move) error {
	alive, die := context.WithCancel(ctx)
	defer die()
	cfg := s.cfg
	switch s.step {
	case stepAnywhere:
		clock := s.env.Patterns.WithDefaults().Clock
		after := time.Duration(u.Rand.Int64N(int64(s.patience)) + 1)
		go func() {
			if clock.Sleep(alive, after) == nil {
				die()
			}
		}()
	case stepStore:
		cfg.Clock = &fuse{Clock: s.env.Patterns.WithDefaults().Clock, left: looksStored, blow: die}
	case stepReserve:
		cfg.Clock = &fuse{Clock: s.env.Patterns.WithDefaults().Clock, left: looksReserved, blow: die}
	}
	l, err := ledger.New(s.db, cfg)
	if err != nil {
		return err
	}
	_, err = l.Transfer(alive, id, move)
	if ctx.Err() == nil && alive.Err() != nil && err != nil {
		u.Count("interrupted", 1)
		return nil
	}
	return s.outcome(u, err)
}

// The ledger reads the clock three times: when it creates a transfer, when it has stored the
// transfer, and when the amounts are reserved. These constants say at which reading the user
// disappears.
const (
	looksStored   = 2
	looksReserved = 3
)

// fuse is a clock that ends its user at the last reading.
type fuse struct {
	patterns.Clock
	left int32
	blow context.CancelFunc
}

// Now implements patterns.Clock.
func (f *fuse) Now() time.Time {
	if atomic.AddInt32(&f.left, -1) == 0 {
		f.blow()
	}
	return f.Clock.Now()
}

// Check implements scenario.Scenario.
func (s *transfers) Check(ctx context.Context, t scenario.Tally) ([]patterns.Violation, error) {
	out, err := s.ledger.Check(ctx) // the invariants also hold before the repair
	if err != nil {
		return nil, err
	}
	err = settled(ctx, s.env.Patterns, func(ctx context.Context, env patterns.Env) (int64, error) {
		cfg := s.cfg
		cfg.Env = env
		l, err := ledger.New(s.db, cfg)
		if err != nil {
			return 0, err
		}
		return l.Repair(ctx)
	})
	if err != nil {
		return nil, err
	}
	repaired, err := s.ledger.Check(ctx)
	if err != nil {
		return nil, err
	}
	out = append(out, repaired...)
	var sum ledger.Amount
	err = patterns.EachOf(ctx, s.db.Collection("accounts"), func(a *ledger.Account) { sum += a.Balance })
	if err != nil {
		return nil, err
	}
	states := map[ledger.State]int64{}
	if err := patterns.EachOf(ctx, s.db.Collection("transfers"),
		func(r *ledger.Record) { states[r.State]++ }); err != nil {
		return nil, err
	}
	out = append(out, counted("the sum of all accounts stays the same", "accounts", int64(sum),
		int64(s.initial)*int64(s.accounts), 0)...)
	done, canceled := states[ledger.Done], states[ledger.Canceled]
	maybe := unsure(t, 1)
	if s.step == stepAnywhere {
		maybe += t.Counts["interrupted"]
	}
	out = append(out, counted("what was transferred is done", "transfers", done, t.Counts["transferred"], maybe)...)
	gone := t.Counts["refused"] + t.Counts["canceled"]
	if s.step != stepAnywhere {
		gone += t.Counts["interrupted"]
	}
	out = append(out, counted("what came to nothing is canceled", "transfers", canceled, gone, maybe)...)
	delete(states, ledger.Done)
	delete(states, ledger.Canceled)
	for state, n := range states {
		out = append(out, patterns.Violation{
			Rule: "nothing stays under way", Collection: "transfers",
			Detail: fmt.Sprintf("%d are %s", n, state),
		})
	}
	return out, nil
}
