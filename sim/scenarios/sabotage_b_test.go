package scenarios_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/torture"
	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/patterntest"
	"github.com/sheafdb/sheaf/sim/scenario"
)

// counts is a scenario.Sink that stores the counts.
type counts struct {
	mu sync.Mutex
	of map[string]int64
}

// Step implements scenario.Sink.
func (c *counts) Step(string, time.Duration) {}

// Count implements scenario.Sink.
func (c *counts) Count(name string, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of[name] += n
}

// played is a scenario whose users have run.
type played struct {
	db    *mongo.Database
	s     scenario.Scenario
	tally scenario.Tally
}

// check returns the rules that are violated according to Check.
func (p *played) check(t *testing.T) (rules []string) {
	t.Helper()
	found, err := p.s.Check(t.Context(), p.tally)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range found {
		rules = append(rules, v.Rule+" | "+v.String())
	}
	return rules
}

// play runs a scenario with the given number of users. Eight users are active at a time.
func play(t *testing.T, name string, given map[string]any, users int) *played {
	t.Helper()
	d, err := allOf(t).Find(name)
	if err != nil {
		t.Fatal(err)
	}
	values, err := d.Values(given)
	if err != nil {
		t.Fatal(err)
	}
	p := &played{db: patterntest.Open(t), tally: scenario.Tally{Params: values}}
	if p.s, err = d.New(scenario.Env{DB: p.db, Params: values, Seed: 7}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.s.Teardown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := p.s.Setup(t.Context()); err != nil {
		t.Fatal(err)
	}
	sink, places := &counts{of: map[string]int64{}}, make(chan struct{}, 8)
	var wg sync.WaitGroup
	for n := range users {
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			if err := p.s.Run(t.Context(), scenario.NewUser(int64(n), 7, patterns.SystemClock{}, sink)); err != nil {
				t.Errorf("user %d: %v", n, err)
			}
		})
	}
	wg.Wait()
	p.tally.Started, p.tally.Succeeded, p.tally.Counts = int64(users), int64(users), sink.of
	t.Log(sink.of)
	return p
}

// sabotage is a write to the database of a scenario, made by the test, that the scenario's Check
// must detect.
type sabotage struct {
	name, scenario string
	params         map[string]any
	coll           string
	filter, update bson.D // without an update, the document is removed
	rule           string
}

func field(key string, value any) bson.D { return bson.D{{key, value}} }

func add(key string, n any) bson.D { return field("$inc", field(key, n)) }

func small(params ...any) map[string]any {
	out := map[string]any{}
	for i := 0; i < len(params); i += 2 {
		out[params[i].(string)] = params[i+1]
	}
	return out
}

// TestSabotage damages a document after a run. The Check, which found nothing before, must detect
// it.
func TestSabotage(t *testing.T) {
	t.Parallel()
	for _, c := range torture.Some(sabotages(), 2) {
		name := c.scenario
		if c.name != "" {
			name += " " + c.name
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := play(t, c.scenario, c.params, 60)
			if found := p.check(t); len(found) > 0 {
				t.Fatalf("before: %q", found)
			}
			coll := p.db.Collection(c.coll)
			var n int64
			if c.update == nil {
				res, err := coll.DeleteOne(t.Context(), c.filter)
				if err != nil {
					t.Fatal(err)
				}
				n = res.DeletedCount
			} else {
				res, err := coll.UpdateOne(t.Context(), c.filter, c.update)
				if err != nil {
					t.Fatal(err)
				}
				n = res.ModifiedCount
			}
			if n != 1 {
				t.Fatalf("%d documents were damaged", n)
			}
			found := p.check(t)
			if !slices.ContainsFunc(found,
				func(s string) bool { return len(s) >= len(c.rule) && s[:len(c.rule)] == c.rule }) {
				t.Errorf("%q is not among %q", c.rule, found)
			}
		})
	}
}

func sabotages() []sabotage {
	stock := small("numberOfProducts", 10, "sizeOfProductsInBytes", 16)
	scarce := small("numberOfProducts", 10, "sizeOfProductsInBytes", 16, "stock", 10)
	house := small("numberOfTheaters", 2, "numberOfSessions", 2, "rows", 20, "seats", 10)
	bank := small("numberOfAccounts", 20)
	failing := func(step string) map[string]any {
		return small("numberOfAccounts", 20, "step", step, "timeout", "50ms")
	}
	done := field("state", "done")
	return []sabotage{
		{"an order is lost", "cart-reserve", stock, "orders", bson.D{}, nil, "what was paid is an order"},
		{
			"", "cart-checkout", stock, "inventories",
			bson.D{},
			add("sold", 1),
			"the stock is the sum of available, reserved and sold pieces",
		},
		{
			"", "cart-reserve-failure", scarce, "inventories",
			bson.D{},
			field("$inc", bson.D{{"stock", -1}, {"quantity", -1}}),
			"what nobody has bought is in stock",
		},
		{
			"", "cart-checkout-failure", scarce, "carts", done, field("$set", field("state", "canceled")),
			"a finished cart has its order",
		},
		{
			"", "cart-reserve-expiry", small("numberOfProducts", 10, "holdTime", "1m"), "carts",
			field("state", "expired"), nil, "what was left has expired",
		},
		{
			"", "cart-checkout-expiry", small("numberOfProducts", 10), "inventories",
			bson.D{},
			add("quantity", 1),
			"what nobody has bought is in stock",
		},
		{"", "theater", house, "sessions", bson.D{}, add("seatsAvailable", 5), "seats are sold or free"},
		{"", "theater-failure", house, "receipts", bson.D{}, nil, "who has paid has a receipt"},
		{
			"", "theater-expiry", small("rows", 30, "seats", 30, "numberOfSessions", 3, "holdTime", "50ms"), "sessions",
			bson.D{},
			field("$set", field("seats.0.0", 1)),
			"seatsAvailable is the number of free seats",
		},
		{"", "transfer", bank, "accounts", bson.D{}, add("balance", 1), "the sum of all accounts stays the same"},
		{
			"in transactions", "transfer",
			small("numberOfAccounts", 50, "design", "transaction"), "transfers", done, nil,
			"what was transferred is done",
		},
		{
			"funds", "transfer-failure", failing("funds"), "accounts",
			bson.D{},
			add("outgoing", 5),
			"the reserved amounts follow from the transfers under way",
		},
		{
			"destination", "transfer-failure", failing("destination"), "transfers",
			bson.D{},
			field("$set", field("state", "held")), "nothing stays under way",
		},
		{
			"cancel", "transfer-failure", failing("cancel"), "transfers",
			bson.D{},
			nil,
			"what came to nothing is canceled",
		},
		{"store", "transfer-failure", failing("store"), "transfers", bson.D{}, nil, "what came to nothing is canceled"},
		{
			"reserve", "transfer-failure", failing("reserve"), "accounts",
			bson.D{},
			add("incoming", 5),
			"the reserved amounts follow from the transfers under way",
		},
		{
			"anywhere", "transfer-failure", failing("anywhere"), "accounts",
			bson.D{},
			add("balance", 1),
			"the sum of all accounts stays the same",
		},
		{
			"", "ads-serve", small("numberOfCampaigns", 3, "numberOfZones", 3, "adsPerZone", 3), "campaigns",
			bson.D{},
			add("impressions", 1), "what was shown is counted",
		},
		{"", "catalog-search", small("numberOfProducts", 50), "products", bson.D{}, nil, "all products are there"},
		{
			"", "catalog-lookup", small("numberOfProducts", 50), "products",
			bson.D{},
			add("pricing.savings", 1),
			"savings follow from the list price and the retail price",
		},
		{
			"", "cms-edit", small("numberOfPages", 4, "sizeOfTextInBytes", 50), "nodes",
			bson.D{},
			add("revision", -1), "each save is a revision",
		},
		{
			"documents", "comments-post", small("numberOfPosts", 5), "comments", field("parent", ""),
			nil, "what was posted is there",
		},
		{
			"embedded", "comments-post", small("numberOfPosts", 5, "design", "embedded"), "discussions",
			bson.D{},
			field("$pop", field("comments", 1)),
			"a document's count is the number of its comments",
		},
		{
			"pages", "comments-post", small("numberOfPosts", 5, "design", "pages"), "comment_pages",
			bson.D{},
			field("$set", field("page", 7)),
			"pages are numbered from 1",
		},
		{
			"documents", "comments-read", small("numberOfPosts", 5), "comments",
			bson.D{},
			nil, "what was posted is there",
		},
		{
			"embedded", "comments-read", small("numberOfPosts", 5, "design", "embedded"), "discussions",
			bson.D{},
			nil, "what was posted is there",
		},
		{
			"pages", "comments-read", small("numberOfPosts", 5, "commentsPerPost", 150, "design", "pages"),
			"comment_pages",
			bson.D{},
			nil, "what was posted is there",
		},
		{"", "failover-read", small("numberOfArticles", 5), "orders", bson.D{}, nil, "what was confirmed is there"},
		{"", "game-trade", small("numberOfPlayers", 10), "players", bson.D{}, add("gold", 1), "no gold is lost"},
		{
			"", "game-board", small("numberOfPlayers", 10), "scores",
			bson.D{},
			add("score", 1),
			"what was won is in the scores",
		},
		{"", "hits-plain", small("pages", 10), "counters", bson.D{}, add("n", 1), "every hit is counted once"},
		{
			"", "identity-signup", small("numberOfNames", 30), "identities", field("kind", "email"), nil,
			"each user has both identities",
		},
		{
			"", "paging-walk", small("numberOfThreads", 3, "entriesPerThread", 25, "pageSize", 10), "entries",
			bson.D{},
			nil, "all entries are there",
		},
		{
			"", "relation-load", small("numberOfAuthors", 20), "books",
			bson.D{},
			field("$pop", field("authors", 1)),
			"a refers to b exactly if b refers to a",
		},
		{
			"", "schema-read", small("numberOfDocuments", 10), "documents",
			bson.D{},
			add("visits", 1), "each change is there",
		},
		{
			"", "social-post", small("numberOfMembers", 10, "followers", 3, "postsAtFirst", 5), "feeds",
			bson.D{},
			field("$pop", field("items", 1)), "a bucket has as many items as it says",
		},
		{
			"", "social-feed", small("numberOfMembers", 10, "followers", 3, "postsAtFirst", 20), "feeds",
			bson.D{},
			add("unread", 60), "unread items are items of the bucket",
		},
	}
}

// TestInterruptedTransfers: users are interrupted when their transfer is stored but has reserved
// nothing, or when its amounts are reserved.
func TestInterruptedTransfers(t *testing.T) {
	t.Parallel()
	for step, reserved := range map[string]int64{"store": 0, "reserve": 10} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			p := play(t, "transfer-failure", small("numberOfAccounts", 20, "step", step, "timeout", "1h"), 10)
			pending, err := p.db.Collection("transfers").CountDocuments(t.Context(), field("state", "pending"))
			if err != nil || pending != 10 {
				t.Errorf("%d are pending, %v", pending, err)
			}
			cur, err := p.db.Collection("accounts").Find(t.Context(), bson.D{})
			if err != nil {
				t.Fatal(err)
			}
			var accounts []struct{ Outgoing, Incoming int64 }
			if err := cur.All(t.Context(), &accounts); err != nil {
				t.Fatal(err)
			}
			var outgoing, incoming int64
			for _, a := range accounts {
				outgoing, incoming = outgoing+a.Outgoing, incoming+a.Incoming
			}
			if outgoing != reserved*100 || incoming != reserved*100 {
				t.Errorf("%d and %d are reserved, not %d", outgoing, incoming, reserved*100)
			}
			if found := p.check(t); len(found) > 0 {
				t.Errorf("%q", found)
			}
		})
	}
}
