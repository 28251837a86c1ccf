// Command guestbook is the simulator with an additional scenario: people sign a guest book.
//
//	go run ./examples/guestbook run sign --users 500 --iterations 5
package main

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/sim"
	"github.com/sheafdb/sheaf/sim/scenario"
	"github.com/sheafdb/sheaf/sim/scenarios"
)

func main() {
	sim.Main(append(scenarios.All(), definition())...)
}

func definition() *scenario.Definition {
	return &scenario.Definition{
		Name: "sign", Title: "Sign a guest book", Doc: "A user inserts a document.", Group: "guests", Users: 100,
		New: func(env scenario.Env) (scenario.Scenario, error) {
			return &signing{book: env.DB.Collection("book")}, nil
		},
	}
}

// signing is the scenario in which each user signs the book once.
type signing struct{ book *mongo.Collection }

// Setup implements scenario.Scenario. The book begins empty, so there is nothing to prepare.
func (s *signing) Setup(context.Context) error { return nil }

// Run implements scenario.Scenario. It signs the book once.
func (s *signing) Run(ctx context.Context, u *scenario.User) error {
	_, err := s.book.InsertOne(ctx, bson.D{{"_id", u.Number}})
	if err == nil {
		u.Count("signed", 1)
	}
	return err
}

// Check implements scenario.Scenario. The book must have an entry for each user that signed. It may
// have an entry for each user that failed or was interrupted.
func (s *signing) Check(ctx context.Context, t scenario.Tally) ([]patterns.Violation, error) {
	n, err := s.book.CountDocuments(ctx, bson.D{})
	signed := t.Counts["signed"]
	if err != nil || n >= signed && n <= signed+t.Failed+t.Cut {
		return nil, err
	}
	return []patterns.Violation{{
		Rule: "whoever has signed is in the book", Collection: "book",
		Detail: fmt.Sprintf("%d of %d", n, signed),
	}}, nil
}

// Teardown implements scenario.Scenario.
func (s *signing) Teardown(context.Context) error { return nil }
