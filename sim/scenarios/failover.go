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
		Title: "Read and write through failures of the server",
		Doc: `A user reads an article and the front page, which is cached for times when no server answers. One user of ten writes an order, which must be stored
exactly once, even if the answer was lost. If a user learns that nothing can be written, or that the outcome is unknown, it is counted, but that is not
a failure. Restart the server, or make its set elect, during the run: confirmed orders must not be lost.

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

// orders implements the scenario failover-read.
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

// order writes an order that must be stored exactly once.
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
