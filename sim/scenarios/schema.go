package scenarios

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/schema"
	"github.com/sheafdb/sheaf/sim/scenario"
)

func schemaScenarios() []*scenario.Definition {
	return []*scenario.Definition{{
		Name: "schema-read", Group: "schema", Users: 1000,
		Title: "Read documents of an old schema, and migrate changed ones",
		Doc: `A user reads a document chosen at random in the program's current schema, whatever schema it is stored in. One user of ten changes the document, which
migrates it. No data may be lost.

  version 0  {_id: 7, fullname: "Member 7", visits: 0}
  version 2  {_id: 7, name: "Member 7", visits: 3, tags: [], schema: 2}`,
		Params: []scenario.Param{
			whole("numberOfDocuments", "how many documents there are", 2000, 1, 1_000_000),
			{Name: "old", Doc: "which part of them has the old schema at first, from 0 to 1", Default: 1.0, Min: 0, Max: 1},
		},
		New: func(env scenario.Env) (scenario.Scenario, error) {
			s := &migrants{env: env, documents: env.Params.Int("numberOfDocuments")}
			var err error
			s.schema, err = schema.New(env.DB, schema.Config{Env: env.Patterns, Steps: []schema.Step{
				schema.Rename("fullname", "name"), schema.Default("tags", bson.A{}),
			}})
			return s, err
		},
	}}
}

// migrants implements the scenario schema-read.
type migrants struct {
	still
	schema    *schema.Schema
	env       scenario.Env
	documents int
}

func fullName(i int) string { return fmt.Sprintf("Member %d", i) }

// Setup implements scenario.Scenario.
func (s *migrants) Setup(ctx context.Context) error {
	if err := s.schema.EnsureIndexes(ctx); err != nil {
		return err
	}
	old := int(s.env.Params.Float("old") * float64(s.documents))
	return fill(ctx, s.env.DB.Collection(schema.DefaultCollection), s.documents, func(i int) any {
		if i < old {
			return bson.D{{"_id", i}, {"fullname", fullName(i)}, {"visits", 0}}
		}
		return bson.D{
			{"_id", i},
			{"name", fullName(i)},
			{"visits", 0},
			{"tags", bson.A{}},
			{schema.DefaultField, s.schema.Version()},
		}
	})
}

// visitor is a document in the newest version of the schema.
type visitor struct {
	ID     int      `bson:"_id"`
	Name   string   `bson:"name"`
	Visits int64    `bson:"visits"`
	Tags   []string `bson:"tags"`
}

// Run implements scenario.Scenario.
func (s *migrants) Run(ctx context.Context, u *scenario.User) error {
	id := u.Rand.IntN(s.documents)
	var doc visitor
	if err := u.Time("read", func() error { return s.schema.Get(ctx, id, &doc) }); err != nil {
		return err
	}
	if doc.Name != fullName(id) || doc.Tags == nil {
		return fmt.Errorf("document %d was read as %+v", id, doc)
	}
	if u.Rand.IntN(10) > 0 {
		return nil
	}
	err := u.Time("update", func() error {
		return s.schema.Update(ctx, id, bson.D{{"$inc", bson.D{{"visits", 1}}}})
	})
	if err == nil {
		u.Count("visits", 1)
	}
	return err
}

// Check implements scenario.Scenario.
func (s *migrants) Check(ctx context.Context, t scenario.Tally) ([]patterns.Violation, error) {
	out, err := s.schema.Check(ctx)
	if err != nil {
		return nil, err
	}
	var visits int64
	err = patterns.EachOf(ctx, s.env.DB.Collection(schema.DefaultCollection), func(raw *bson.Raw) {
		var doc visitor
		if err := s.schema.Decode(*raw, &doc); err != nil || doc.Name != fullName(doc.ID) {
			out = append(out, patterns.Violation{
				Rule: "a document keeps what it says", Collection: schema.DefaultCollection, ID: doc.ID,
				Detail: fmt.Sprintf("%+v, %v", doc, err),
			})
		}
		visits += doc.Visits
	})
	return append(out, counted("each change is there", schema.DefaultCollection, visits,
		t.Counts["visits"], unsure(t, 1))...), err
}
