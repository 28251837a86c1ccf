package ledger

import (
	"context"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/patterns"
)

// These are the rules that Check verifies.
const (
	RuleSum      = "the sum of the balances equals the sum of the openings"
	RuleBalance  = "a balance follows from its transfers"
	RuleReserved = "the reserved amounts follow from the transfers under way"
	RuleLimits   = "no account passes its limits"
	RulePending  = "a pending run belongs to a transfer under way"
	RuleHeld     = "a hold is reserved on all its accounts"
	RuleState    = "a transfer is in one of the states"
	RuleLegs     = "what leaves one account reaches another"
)

// audit is the state of one run of Check.
type audit struct {
	*Ledger
	accounts   map[string]*tally
	currencies map[string]Amount // for each currency, the amount by which the sum of the balances is too low
	found      []patterns.Violation
}

// tally is an account with the sums that its transfers add up to.
type tally struct {
	stored
	balance, outgoing, incoming Amount
	runs                        map[bson.ObjectID]bool // the pending runs; true once Check has seen the run's transfer
}

// Check reads all accounts and transfers and lists the violations of the rules. The rules hold even
// after processes have died, before Repair has run. No transfer may be under way during Check,
// because it reads the documents one after the other. Check keeps all accounts in memory.
func (l *Ledger) Check(ctx context.Context) ([]patterns.Violation, error) {
	a := &audit{Ledger: l, accounts: map[string]*tally{}, currencies: map[string]Amount{}}
	if err := patterns.EachOf(ctx, l.accounts, a.account); err != nil {
		return nil, err
	}
	if err := patterns.EachOf(ctx, l.transfers, a.transfer); err != nil {
		return nil, err
	}
	a.compare()
	return a.found, nil
}

func (a *audit) report(rule, collection string, id any, format string, args ...any) {
	a.found = append(a.found,
		patterns.Violation{Rule: rule, Collection: collection, ID: id, Detail: fmt.Sprintf(format, args...)})
}

func (a *audit) account(doc *stored) {
	t := &tally{stored: *doc, balance: doc.Opening, runs: map[bson.ObjectID]bool{}}
	for _, run := range doc.Pending {
		if _, twice := t.runs[run]; twice {
			a.report(RulePending, a.cfg.Accounts, doc.ID, "the run %v is there twice", run)
		}
		t.runs[run] = false
	}
	a.accounts[doc.ID] = t
	if doc.Available() < doc.Floor || doc.Balance+doc.Incoming > doc.Ceiling {
		a.report(RuleLimits, a.cfg.Accounts, doc.ID, "balance %d, outgoing %d, incoming %d, between %d and %d",
			doc.Balance, doc.Outgoing, doc.Incoming, doc.Floor, doc.Ceiling)
	}
}

func (a *audit) transfer(t *Record) {
	a.legs(t)
	if !slices.Contains([]State{Initial, Pending, Held, Committed, Done, Canceling, Canceled}, t.State) {
		a.report(RuleState, a.cfg.Transfers, t.ID, "it is %q", t.State)
		return
	}
	if t.State == Initial || t.State == Canceled {
		return
	}
	for _, leg := range t.Legs {
		acc := a.accounts[leg.Account]
		if acc == nil {
			if t.State == Held || t.State == Committed || t.State == Done {
				a.report(RuleBalance, a.cfg.Transfers, t.ID,
					"it is %s, and account %s does not exist", t.State, leg.Account)
			}
			continue
		}
		_, pending := acc.runs[t.Run]
		switch {
		case pending && t.State != Done:
			acc.runs[t.Run] = true
			acc.reserve(leg)
		case t.State == Held:
			a.report(RuleHeld, a.cfg.Transfers, t.ID, "account %s has nothing reserved", leg.Account)
		case t.State == Committed:
			acc.balance += leg.Posted
			a.currencies[leg.Currency] += leg.Posted
		case t.State == Done:
			acc.balance += leg.Posted
		}
	}
}

func (t *tally) reserve(leg Leg) {
	if leg.Amount < 0 {
		t.outgoing -= leg.Amount
		return
	}
	t.incoming += leg.Amount
}

// legs checks that the legs of a transfer follow from its moves, and that the posted amounts add up
// to zero.
func (a *audit) legs(t *Record) {
	want, err := legsOf(t.Moves)
	if err != nil {
		a.report(RuleLegs, a.cfg.Transfers, t.ID, "%v", err)
		return
	}
	posted := map[string]Amount{}
	amounts := slices.Clone(t.Legs)
	for i, leg := range t.Legs {
		posted[leg.Currency] += leg.Posted
		amounts[i].Posted = leg.Amount
	}
	if !slices.Equal(amounts, want) {
		a.report(RuleLegs, a.cfg.Transfers, t.ID, "legs %v of moves %v", t.Legs, t.Moves)
	}
	for currency, sum := range posted {
		if sum != 0 {
			a.report(RuleLegs, a.cfg.Transfers, t.ID, "%d %s are posted from nowhere", sum, currency)
		}
	}
}

// compare compares each account with the sums from its transfers.
func (a *audit) compare() {
	for id, t := range a.accounts {
		a.currencies[t.Currency] -= t.Balance - t.Opening
		if t.Balance != t.balance {
			a.report(RuleBalance, a.cfg.Accounts, id, "balance %d, by its transfers %d", t.Balance, t.balance)
		}
		if t.Outgoing != t.outgoing || t.Incoming != t.incoming {
			a.report(RuleReserved, a.cfg.Accounts, id, "outgoing %d and incoming %d, by its transfers %d and %d",
				t.Outgoing, t.Incoming, t.outgoing, t.incoming)
		}
		for run, seen := range t.runs {
			if !seen {
				a.report(RulePending, a.cfg.Accounts, id, "no transfer under way has the run %v", run)
			}
		}
	}
	for currency, missing := range a.currencies {
		if missing != 0 {
			a.report(RuleSum, a.cfg.Accounts, currency, "%d %s are missing", missing, currency)
		}
	}
}
