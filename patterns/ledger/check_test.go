package ledger_test

import (
	"fmt"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns/ledger"
	"github.com/sheafdb/sheaf/patterns/patterntest"
)

// TestCheck violates each rule on purpose, and expects Check to find the violation.
func TestCheck(t *testing.T) {
	t.Parallel()
	set := func(field string, value any) bson.D {
		return bson.D{{"$set", bson.D{{field, value}}}}
	}
	inc := func(field string, n int) bson.D { return bson.D{{"$inc", bson.D{{field, n}}}} }
	for i, c := range []struct {
		collection, id string
		change         bson.D
		want           []string
	}{
		{"accounts", "joe", inc("balance", 1), []string{ledger.RuleBalance, ledger.RuleSum}},
		{"accounts", "joe", inc("opening", 1), []string{ledger.RuleBalance, ledger.RuleSum}},
		{"accounts", "joe", inc("outgoing", 1), []string{ledger.RuleReserved}},
		{"accounts", "peter", inc("incoming", -1), []string{ledger.RuleReserved}},
		{"accounts", "joe", inc("floor", 2000), []string{ledger.RuleLimits}},
		{"accounts", "peter", set("ceiling", 1129), []string{ledger.RuleLimits}},
		{"accounts", "anna", bson.D{{"$push", bson.D{{"pending", bson.NewObjectID()}}}}, []string{ledger.RulePending}},
		{
			"transfers", "held", set("run", bson.NewObjectID()),
			[]string{ledger.RuleHeld, ledger.RulePending, ledger.RuleReserved},
		},
		{"transfers", "held", set("state", "canceled"), []string{ledger.RulePending, ledger.RuleReserved}},
		{"transfers", "held", set("state", "done"), []string{ledger.RulePending, ledger.RuleReserved}},
		{"accounts", "joe", set("balance", -1), []string{ledger.RuleBalance, ledger.RuleLimits, ledger.RuleSum}},
		{"transfers", "done", set("state", "canceled"), []string{ledger.RuleBalance}},
		{
			"transfers", "held", set("state", "lost"),
			[]string{ledger.RuleState, ledger.RulePending, ledger.RuleReserved},
		},
		{"transfers", "done", set("legs.0.posted", -99), []string{ledger.RuleBalance, ledger.RuleLegs}},
		{"transfers", "done", set("legs.0.amount", -99), []string{ledger.RuleLegs}},
		{"transfers", "done", set("legs.0.account", "nobody"), []string{ledger.RuleBalance, ledger.RuleLegs}},
		{"transfers", "done", set("moves", bson.A{}), []string{ledger.RuleLegs}},
		{
			"transfers", "committed", inc("legs.1.posted", 1),
			[]string{ledger.RuleBalance, ledger.RuleLegs, ledger.RuleSum},
		},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			db := patterntest.Open(t)
			l, ctx := openBank(t, db, ledger.Config{}, nil), t.Context()
			_, err1 := l.Transfer(ctx, "done", pay(100))
			_, err2 := l.Hold(ctx, "held", 0, pay(10))
			_, err3 := l.Half(ctx, "committed", ledger.Committed, 2, pay(20)) // the paying account has not paid yet
			if err1 != nil || err2 != nil || err3 != nil {
				t.Fatal(err1, err2, err3)
			}
			mustHold(t, l)
			if res, err := db.Collection(c.collection).
				UpdateByID(ctx, c.id, c.change); err != nil || res.ModifiedCount != 1 {
				t.Fatal(res, err)
			}
			violations, err := l.Check(ctx)
			if err != nil {
				t.Fatal(err)
			}
			var rules []string
			for _, v := range violations {
				rules = append(rules, v.Rule)
			}
			slices.Sort(rules)
			slices.Sort(c.want)
			if rules = slices.Compact(rules); !slices.Equal(rules, c.want) {
				t.Errorf("%v, want %v: %v", rules, c.want, violations)
			}
		})
	}
}

// TestCheckTwice lists the run of a hold twice in an account: the hold could be applied twice.
func TestCheckTwice(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	l, ctx := openBank(t, db, ledger.Config{}, nil), t.Context()
	_, err1 := l.Hold(ctx, "held", 0, pay(10))
	twice := bson.D{{"$concatArrays", bson.A{"$pending", "$pending"}}}
	_, err2 := db.Collection("accounts").UpdateByID(ctx, "joe", mongo.Pipeline{{{"$set", bson.D{{"pending", twice}}}}})
	violations, err := l.Check(ctx)
	if err1 != nil || err2 != nil || err != nil || len(violations) != 1 || violations[0].Rule != ledger.RulePending {
		t.Error(err1, err2, err, violations)
	}
}
