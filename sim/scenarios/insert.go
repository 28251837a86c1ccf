package scenarios

import (
	"context"
	"fmt"
	"hash/crc32"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/sim/scenario"
)

func insertScenarios() []*scenario.Definition {
	return []*scenario.Definition{{
		Name: "insert", Group: "insert", Users: 2000,
		Title: "Only insert documents",
		Doc: `A user inserts documents of a person: a name, an age, a city, tags, a date, and text up to the given size. It is the least
work of a server for any stored data; compare other scenarios with it.

  documents: {_id, user: 7, n: 0, name: "kvetuzba", age: 31, city: "qo", tags: ["…", "…"], born: ISODate("…"), text: "…", sum: 1234567}`,
		Params: []scenario.Param{
			whole("batchSize", "how many documents a user inserts, by one command", 1, 1, 100_000),
			flag("ordered", "whether the documents of a command are inserted one after the other", true),
			whole("documentSize", "about how many bytes a document has", 512, 256, 1<<20),
			whole("indexes", "how many secondary indexes there are", 0, 0, 3),
		},
		New: func(env scenario.Env) (scenario.Scenario, error) {
			return &insert{
				coll: env.DB.Collection("documents"), batch: env.Params.Int("batchSize"),
				ordered: env.Params.Bool("ordered"),
				size:    env.Params.Int("documentSize"), indexes: env.Params.Int("indexes"),
			}, nil
		},
	}}
}

// insert implements the scenario insert.
type insert struct {
	still
	coll                 *mongo.Collection
	batch, size, indexes int
	ordered              bool
}

// Setup implements scenario.Scenario.
func (s *insert) Setup(ctx context.Context) error {
	keys := []bson.D{
		{{"name", 1}},
		{{"city", 1}, {"age", 1}},
		{{"tags", 1}},
	}
	var indexes []patterns.Index
	for _, k := range keys[:s.indexes] {
		indexes = append(indexes, patterns.Index{Collection: s.coll.Name(), Model: mongo.IndexModel{Keys: k}})
	}
	return patterns.EnsureIndexes(ctx, s.coll.Database(), indexes)
}

// Run implements scenario.Scenario.
func (s *insert) Run(ctx context.Context, u *scenario.User) error {
	docs := make([]any, s.batch)
	for i := range docs {
		docs[i] = s.document(u, i)
	}
	if _, err := s.coll.InsertMany(ctx, docs, options.InsertMany().SetOrdered(s.ordered)); err != nil {
		return fmt.Errorf("insert: %w", err)
	}
	u.Count("inserted", int64(s.batch))
	return nil
}

// rest is the approximate size of a document without its field text, in bytes.
const rest = 210

// document returns the i-th document of a user.
func (s *insert) document(u *scenario.User, i int) bson.D {
	text := letters(u.Rand, max(0, s.size-rest))
	return bson.D{
		{"_id", bson.NewObjectID()},
		{"user", u.Number},
		{"n", i},
		{"name", letters(u.Rand, 8)},
		{"age", u.Rand.IntN(100)},
		{"city", letters(u.Rand, 2)},
		{"tags", bson.A{letters(u.Rand, 6), letters(u.Rand, 6)}},
		{"born", u.Now()},
		{"text", text},
		{"sum", int64(crc32.ChecksumIEEE([]byte(text)))},
	}
}

// Check implements scenario.Scenario.
func (s *insert) Check(ctx context.Context, t scenario.Tally) ([]patterns.Violation, error) {
	type document struct {
		ID   bson.ObjectID `bson:"_id"`
		User int64         `bson:"user"`
		N    int           `bson:"n"`
		Text string        `bson:"text"`
		Sum  int64         `bson:"sum"`
	}
	type place struct {
		user int64
		n    int
	}
	seen := map[place]bool{}
	var out []patterns.Violation
	err := patterns.EachOf(ctx, s.coll, func(d *document) {
		if sum := int64(crc32.ChecksumIEEE([]byte(d.Text))); sum != d.Sum {
			out = append(out, patterns.Violation{
				Rule: "a document is as it was inserted", Collection: s.coll.Name(),
				ID: d.ID, Detail: "its sum is wrong",
			})
		}
		p := place{d.User, d.N}
		if seen[p] {
			out = append(out, patterns.Violation{
				Rule: "a document is there once", Collection: s.coll.Name(), ID: d.ID,
				Detail: fmt.Sprintf("%+v", p),
			})
		}
		seen[p] = true
	})
	if err != nil {
		return nil, err
	}
	return append(out, counted("what was inserted is there", s.coll.Name(), int64(len(seen)),
		t.Counts["inserted"], unsure(t, s.batch))...), nil
}
