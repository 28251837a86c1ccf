package scenarios

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/metadata"
	"github.com/sheafdb/sheaf/sim/scenario"
)

func metadataScenarios() []*scenario.Definition {
	return []*scenario.Definition{{
		Name: "metadata-find", Aliases: []string{"metadata"}, Group: "metadata", Users: 1000,
		Title: "Find objects by attributes that were not planned",
		Doc: `A user finds the objects of a group that were taken by one of two makes of camera: 1 find with two conditions on attributes. The number of
objects in an answer is checked.

  objects: {_id: 7, metadata: [{key: "group", value: 7}, {key: "make", value: "make-1"}, …]}    with design array
  objects: {_id: 7, metadata: {group: 7, make: "make-1", …}}                                      with design wildcard`,
		Params: []scenario.Param{
			whole("numberOfObjects", "how many objects there are", 1000, 1, 10_000_000),
			whole("groupSize", "how many objects are in a group", 10, 1, 1_000_000),
			whole("attributes", "how many attributes an object has", 8, 3, 500),
			choice("design", "how attributes are stored", "array", "wildcard"),
		},
		New: func(env scenario.Env) (scenario.Scenario, error) {
			s := &finding{
				coll: env.DB.Collection(metadata.DefaultCollection), objects: env.Params.Int("numberOfObjects"),
				group:      env.Params.Int("groupSize"),
				attributes: env.Params.Int("attributes"),
			}
			if env.Params.String("design") == "wildcard" {
				s.design = metadata.Wildcard
			}
			var err error
			s.Store, err = metadata.New(env.DB, metadata.Config{Env: env.Patterns, Design: s.design})
			return s, err
		},
	}}
}

// finding implements the scenario metadata-find.
type finding struct {
	still
	*metadata.Store
	coll                       *mongo.Collection
	objects, group, attributes int
	design                     metadata.Design
}

// makes is the number of camera makes.
const makes = 2

// object returns the attributes of the i-th object.
func (s *finding) object(i int) []metadata.Attribute {
	out := []metadata.Attribute{
		{Key: "group", Value: i / s.group},
		{Key: "make", Value: fmt.Sprint("make-", i%makes)},
		{Key: "size", Value: int64(i * 3571 % 10_000_000)},
	}
	for len(out) < s.attributes {
		out = append(out, metadata.Attribute{Key: fmt.Sprint("attribute-", (i+len(out)*7)%1000), Value: i % 17})
	}
	return out
}

// Setup implements scenario.Scenario.
func (s *finding) Setup(ctx context.Context) error {
	err := fill(ctx, s.coll, s.objects, func(i int) any {
		attributes := s.object(i)
		if s.design == metadata.Array {
			return bson.D{{"_id", i}, {metadata.DefaultField, attributes}}
		}
		fields := bson.D{}
		for _, a := range attributes {
			fields = append(fields, bson.E{a.Key, a.Value})
		}
		return bson.D{{"_id", i}, {metadata.DefaultField, fields}}
	})
	if err != nil {
		return err
	}
	return s.EnsureIndexes(ctx)
}

// Run implements scenario.Scenario.
func (s *finding) Run(ctx context.Context, u *scenario.User) error {
	group, brand := u.Rand.IntN(s.objects)/s.group, u.Rand.IntN(makes)
	cur, err := s.Find(ctx, metadata.Equal("group", group), metadata.Equal("make", fmt.Sprint("make-", brand)))
	if err != nil {
		return err
	}
	var found []bson.Raw
	if err := cur.All(ctx, &found); err != nil {
		return err
	}
	if want := s.members(group, brand); len(found) != want {
		return fmt.Errorf("wrong answer: group %d has %d objects of make %d, not %d", group, want, brand, len(found))
	}
	u.Count("found", int64(len(found)))
	return nil
}

// members returns how many objects of a group have a given make.
func (s *finding) members(group, brand int) (n int) {
	for i := group * s.group; i < min((group+1)*s.group, s.objects); i++ {
		if i%makes == brand {
			n++
		}
	}
	return n
}

// Check implements scenario.Scenario.
func (s *finding) Check(ctx context.Context, _ scenario.Tally) ([]patterns.Violation, error) {
	out, err := s.Store.Check(ctx)
	if err != nil {
		return nil, err
	}
	n, err := countOf(ctx, s.coll, bson.D{})
	return append(out, counted("readers change nothing", s.coll.Name(), n, int64(s.objects), 0)...), err
}
