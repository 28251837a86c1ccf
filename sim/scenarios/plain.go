package scenarios

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/sim/scenario"
)

func plainScenarios() []*scenario.Definition {
	return []*scenario.Definition{{
		Name: "hits-plain", Group: "hits", Users: 1000, Title: "Count a hit of a page in one number",
		Doc: `A user hits one of the pages of a site, as in hits. Only the total number of hits of that page is stored: 1 update with upsert. Compare the other counters
with it.

  counters: {_id: "/page-7.html", n: NumberLong(21)}`,
		Params: []scenario.Param{whole("pages", "how many pages the site has", 1000, 1, 10_000_000)},
		New: func(env scenario.Env) (scenario.Scenario, error) {
			return &plain{coll: env.DB.Collection("counters"), pages: env.Params.Int("pages")}, nil
		},
	}}
}

// plain implements the scenario hits-plain.
type plain struct {
	still
	coll  *mongo.Collection
	pages int
}

// Setup implements scenario.Scenario.
func (s *plain) Setup(context.Context) error { return nil }

// Run implements scenario.Scenario. If two users create the same counter at the same time, one of
// them gets a duplicate key error, and then increments the counter of the other.
func (s *plain) Run(ctx context.Context, u *scenario.User) error {
	page := bson.D{{"_id", fmt.Sprintf("/page-%d.html", popular(u.Rand, s.pages))}}
	one := bson.D{{"$inc", bson.D{{"n", int64(1)}}}}
	_, err := s.coll.UpdateOne(ctx, page, one, options.UpdateOne().SetUpsert(true))
	if mongo.IsDuplicateKeyError(err) {
		_, err = s.coll.UpdateOne(ctx, page, one)
	}
	if err != nil {
		return fmt.Errorf("count: %w", err)
	}
	u.Count("hits", 1)
	return nil
}

// Check implements scenario.Scenario.
func (s *plain) Check(ctx context.Context, t scenario.Tally) ([]patterns.Violation, error) {
	n, err := sumOf(ctx, s.coll, "$n")
	return counted("every hit is counted once", s.coll.Name(), n, t.Counts["hits"], unsure(t, 1)), err
}
