package scenarios

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/slicecache"
	"github.com/sheafdb/sheaf/sim/scenario"
)

func slicecacheScenarios() []*scenario.Definition {
	latest := func(name, alias, title string, preallocate bool) *scenario.Definition {
		return &scenario.Definition{
			Name: name, Aliases: []string{alias}, Group: "slicecache", Users: 1000, Title: title,
			Doc: `A user adds an item to one of many parents, which shows the latest of its items in its own document: 1 insert, and 1 update that pushes, sorts
and cuts. With preAllocate, the array is full of templates from the beginning, so the document keeps its size.

  posts:    {_id: 7, latest: [{_id, at: ISODate("…"), body: {message: "…"}}, …], latestRev: NumberLong(31)}
  comments: {_id, at: ISODate("…"), body: {message: "…"}, parent: 7}`,
			Params: []scenario.Param{
				whole("numberOfCacheObjects", "how many parents there are", 1000, 1, 1_000_000),
				whole("initialCacheSize", "how many items a parent shows", 256, 1, 10_000),
				flag("preAllocate", "whether parents have space for all their items from the beginning", preallocate),
				whole("sizeOfItem", "how many bytes of text an item has", 32, 0, 100_000),
				whole("reads", "how many of 100 users read the items of a parent instead", 0, 0, 100),
			},
			New: newSlice,
		}
	}
	return []*scenario.Definition{
		latest("slice", "cache", "Add an item to the latest ones of its parent, with room made beforehand", true),
		latest("slice-plain", "cache_no_prealloc", "Add an item to the latest ones of its parent", false),
		{
			Name: "cache-get", Group: "slicecache", Users: 1000,
			Title: "Get a value from a cache whose values expire",
			Doc: `A user gets a value; some values are requested much more often than others: 1 find. If the value is missing or has expired, one of the users computes
it, which takes some time. The others wait, or get the old value. No value is computed twice at the same time.

  cache: {_id: "key-7", value: {key: "key-7", text: "…"}, fresh: ISODate("…"), expires: ISODate("…")}
  loads: {_id, key: "key-7", from: NumberLong(…), to: NumberLong(…)}      when each value was made`,
			Params: []scenario.Param{
				whole("keys", "how many values there are", 1000, 1, 10_000_000),
				whole("sizeOfValue", "how many bytes of text a value has", 1024, 0, 1<<20),
				{Name: "ttl", Doc: "how long a value is fresh", Default: 5 * time.Second, Min: 0.001, Max: 86400},
				{Name: "stale", Doc: "how long an old value is returned while a new one is computed", Default: time.Duration(0), Max: 86400},
				{Name: "loading", Doc: "how long it takes to compute a value", Default: 20 * time.Millisecond, Max: 20},
			},
			New: newCacheGet,
		},
	}
}

// note is the body of an item.
type note struct {
	Message string `bson:"message"`
}

// slice implements the scenarios of parents that embed their latest items.
type slice struct {
	still
	*slicecache.Latest[note]
	parents, items        *mongo.Collection
	objects, reads, bytes int
	preallocate           bool
}

func newSlice(env scenario.Env) (scenario.Scenario, error) {
	p := env.Params
	s := &slice{
		parents: env.DB.Collection("posts"), items: env.DB.Collection("comments"),
		objects: p.Int("numberOfCacheObjects"), reads: p.Int("reads"), bytes: p.Int("sizeOfItem"),
		preallocate: p.Bool("preAllocate"),
	}
	var err error
	s.Latest, err = slicecache.NewLatest(env.DB, slicecache.LatestConfig[note]{
		Env: env.Patterns, Parents: s.parents.Name(), Items: s.items.Name(),
		Max: p.Int("initialCacheSize"), Preallocate: s.preallocate,
		Template: note{letters(env.Rand(), s.bytes)},
	})
	return s, err
}

// Setup implements scenario.Scenario.
func (s *slice) Setup(ctx context.Context) error {
	if err := fill(ctx, s.parents, s.objects, func(i int) any { return bson.D{{"_id", i}} }); err != nil {
		return err
	}
	if err := s.EnsureIndexes(ctx); err != nil || !s.preallocate {
		return err
	}
	return eachOf(ctx, s.objects, func(ctx context.Context, i int) error { return s.Prepare(ctx, i) })
}

// Run implements scenario.Scenario.
func (s *slice) Run(ctx context.Context, u *scenario.User) error {
	parent := u.Rand.IntN(s.objects)
	if u.Rand.IntN(100) < s.reads {
		items, err := s.Show(ctx, parent)
		u.Count("shown", int64(len(items)))
		return err
	}
	item := &slicecache.Item[note]{ID: bson.NewObjectID(), At: u.Now().UTC(), Body: note{letters(u.Rand, s.bytes)}}
	if err := s.Add(ctx, parent, item); err != nil {
		return err
	}
	u.Count("added", 1)
	return nil
}

// Check implements scenario.Scenario.
func (s *slice) Check(ctx context.Context, t scenario.Tally) ([]patterns.Violation, error) {
	if unsure(t, 1) > 0 {
		if _, err := s.Repair(ctx); err != nil {
			return nil, err
		}
	}
	out, err := s.Latest.Check(ctx)
	if err != nil {
		return nil, err
	}
	n, err := countOf(ctx, s.items, bson.D{})
	return append(out, counted("an item that was added is there", s.items.Name(), n,
		t.Counts["added"], unsure(t, 1))...), err
}

// cached is a value of a cache.
type cached struct {
	Key  string `bson:"key"`
	Text string `bson:"text"`
}

// cacheGet implements the scenario cache-get.
type cacheGet struct {
	still
	*slicecache.Cache[cached]
	loads       *mongo.Collection
	patterns    patterns.Env
	keys, bytes int
	loading     time.Duration
}

func newCacheGet(env scenario.Env) (scenario.Scenario, error) {
	p := env.Params
	s := &cacheGet{
		loads: env.DB.Collection("loads"), patterns: env.Patterns.WithDefaults(), keys: p.Int("keys"),
		bytes: p.Int("sizeOfValue"), loading: p.Duration("loading"),
	}
	var err error
	s.Cache, err = slicecache.NewCache[cached](env.DB,
		slicecache.CacheConfig{Env: env.Patterns, TTL: p.Duration("ttl"), Stale: p.Duration("stale")})
	return s, err
}

// Setup implements scenario.Scenario.
func (s *cacheGet) Setup(ctx context.Context) error { return s.EnsureIndexes(ctx) }

// Run implements scenario.Scenario.
func (s *cacheGet) Run(ctx context.Context, u *scenario.User) error {
	key, made := fmt.Sprint("key-", popular(u.Rand, s.keys)), false
	begin := u.Now()
	value, err := s.Get(ctx, key, func(ctx context.Context) (cached, []string, error) {
		made = true
		return s.load(ctx, u, key)
	})
	if err != nil {
		return err
	}
	if value.Key != key {
		return fmt.Errorf("wrong answer: %s is the value of %s", key, value.Key)
	}
	step := "found"
	if made {
		step = "made"
	}
	u.Record(step, u.Now().Sub(begin))
	u.Count(step, 1)
	return nil
}

// load computes the value of a key, and records the time of the computation.
func (s *cacheGet) load(ctx context.Context, u *scenario.User, key string) (v cached, tags []string, err error) {
	from := u.Now().UnixNano()
	if err := s.patterns.Clock.Sleep(ctx, s.loading); err != nil {
		return v, nil, err
	}
	_, err = s.loads.InsertOne(ctx,
		bson.D{{"key", key}, {"from", from}, {"to", u.Now().UnixNano()}})
	if err != nil {
		return v, nil, fmt.Errorf("note that %s is made: %w", key, err)
	}
	return cached{Key: key, Text: letters(u.Rand, s.bytes)}, nil, nil
}

// Check implements scenario.Scenario.
func (s *cacheGet) Check(ctx context.Context, t scenario.Tally) ([]patterns.Violation, error) {
	out, err := s.Cache.Check(ctx)
	if err != nil {
		return nil, err
	}
	type load struct {
		ID   any    `bson:"_id"`
		Key  string `bson:"key"`
		From int64  `bson:"from"`
		To   int64  `bson:"to"`
	}
	before, n := load{}, int64(0)
	order := bson.D{{"key", 1}, {"from", 1}}
	err = patterns.Each(ctx, s.loads, bson.D{}, func(l *load) error {
		if n++; l.Key == before.Key && l.From < before.To {
			detail := fmt.Sprintf("%s was made from %d on, while it was being made until %d", l.Key, l.From, before.To)
			out = append(out, patterns.Violation{
				Rule:       "one at a time makes a value",
				Collection: s.loads.Name(), ID: l.ID, Detail: detail,
			})
		}
		before = *l
		return nil
	}, options.Find().SetSort(order))
	return append(out, counted("what was made is noted", s.loads.Name(), n, t.Counts["made"], unsure(t, 1))...), err
}
