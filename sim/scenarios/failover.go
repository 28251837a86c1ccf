package scenarios

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/failover"
	"github.com/sheafdb/sheaf/sim/scenario"
)

func failoverScenarios() []*scenario.Definition {
	return []*scenario.Definition{{
		Name: "failover-read", Group: "failover", Users: 500,
		Title: "Read and write through whatever happens to the server",
		Doc: `A user reads the front page, which is remembered for the time when no server answers, and an article. One user of ten writes an order, which
must be there once, also where an answer was lost. Users who learn that nothing can be written, or that it is not known whether it was, are counted;
that is no failure. Restart the server, or have its set elect, while this runs: what was confirmed must be there.

  articles: {_id: 7, text: "…"}
  orders:   {_id: "order-12", article: 7}`,
		Params: []scenario.Param{whole("numberOfArticles", "how many articles there are", 1000, 1, 1_000_000)},
		New: func(env scenario.Env) (scenario.Scenario, error) {
			s := &orders{env: env, articles: env.Params.Int("numberOfArticles")}
			var err error
			s.failover, err = failover.New(env.DB, failover.Config{Env: env.Patterns})
			return s, err
		},
	}}
}

// orders is the scenario failover-read.
type orders struct {
	still
	failover *failover.Failover
	env      scenario.Env
	articles int
}

// Setup implements scenario.Scenario.
func (s *orders) Setup(ctx context.Context) error {
	random := s.env.Rand()
	return fill(ctx, s.env.DB.Collection("articles"), s.articles, func(i int) any {
		return bson.D{{"_id", i}, {"text", letters(random, 500)}}
	})
}

// Run implements scenario.Scenario.
func (s *orders) Run(ctx context.Context, u *scenario.User) error {
	article := u.Rand.IntN(s.articles)
	byID := bson.D{{"_id", article}}
	err := u.Time("front page", func() error {
		page, err := failover.Answer(ctx, s.failover, "front page",
			func(ctx context.Context, db *mongo.Database) (bson.D, error) {
				var doc bson.D
				return doc, db.Collection("articles").FindOne(ctx, bson.D{{"_id", 0}}).Decode(&doc)
			})
		if err == nil && page.Stale {
			u.Count("stale", 1)
		}
		return err
	})
	if err == nil {
		err = u.Time("article", func() error {
			return s.failover.Read(ctx, func(ctx context.Context, db *mongo.Database) error {
				return db.Collection("articles").FindOne(ctx, byID).Err()
			})
		})
	}
	if anyOf(err, failover.ErrEmergency) {
		u.Count("not read", 1)
		return nil
	}
	if err != nil || u.Number%10 > 0 {
		return err
	}
	return s.order(ctx, u, article)
}

// order writes an order that must be there once.
func (s *orders) order(ctx context.Context, u *scenario.User, article int) error {
	id := fmt.Sprintf("order-%d", u.Number)
	err := u.Time("order", func() error {
		return s.failover.Write(ctx, failover.Write{
			Repeat: failover.Ask,
			Do: func(ctx context.Context, db *mongo.Database) error {
				_, err := db.Collection("orders").
					InsertOne(ctx, bson.D{{"_id", id}, {"article", article}})
				return err
			},
			Done: func(ctx context.Context, db *mongo.Database) (bool, error) {
				n, err := db.Collection("orders").CountDocuments(ctx, bson.D{{"_id", id}})
				return n > 0, err
			},
		})
	})
	switch {
	case anyOf(err, failover.ErrReadOnly):
		u.Count("not written", 1)
		return nil
	case anyOf(err, failover.ErrUncertain):
		u.Count("uncertain", 1)
		return nil
	case err == nil:
		u.Count("ordered", 1)
	}
	return err
}

// Check implements scenario.Scenario.
func (s *orders) Check(ctx context.Context, t scenario.Tally) ([]patterns.Violation, error) {
	n, err := countOf(ctx, s.env.DB.Collection("orders"), bson.D{})
	return counted("what was confirmed is there", "orders", n, t.Counts["ordered"],
		t.Counts["uncertain"]+unsure(t, 1)), err
}
