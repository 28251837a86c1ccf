package ads_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/ads"
	"github.com/sheafdb/sheaf/patterns/patterntest"
)

var (
	front = ads.Place{Site: "news", Zone: "front"}
	ids   = func() (out [6]bson.ObjectID) {
		for i := range out {
			out[i] = bson.NewObjectID()
		}
		return out
	}()
)

const day = 24 * time.Hour

// network is a network with one zone.
type network struct {
	*ads.Ads
	t     testing.TB
	clock *patterntest.Clock
}

func open(t testing.TB, db *mongo.Database) *network {
	t.Helper()
	n := &network{t: t, clock: patterntest.NewClock()}
	a, err := ads.New(db, ads.Config{Env: patterns.Env{Clock: n.clock}})
	n.must(err)
	n.Ads = a
	n.must(a.EnsureIndexes(t.Context()))
	return n
}

func (n *network) must(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
}

// book books a campaign of ten days that begins now.
func (n *network) book(id bson.ObjectID, budget int64, even bool) {
	n.t.Helper()
	_, err := n.Book(n.t.Context(),
		ads.Campaign{
			ID: id, Name: "c", Budget: budget, From: n.clock.Now(),
			To: n.clock.Now().Add(10 * day), Even: even,
		})
	n.must(err)
}

func (n *network) put(ad ads.Ad) {
	n.t.Helper()
	n.must(n.Put(n.t.Context(), front, ad))
}

// serve returns the content of the served advertisement.
func (n *network) serve(user string, keywords ...string) string {
	n.t.Helper()
	i, err := n.Serve(n.t.Context(), ads.Request{Place: front, User: user, Keywords: keywords})
	if err != nil {
		return err.Error()
	}
	return i.Ad.Content
}

func (n *network) sound() {
	n.t.Helper()
	violations, err := n.Check(n.t.Context())
	n.must(err)
	for _, v := range violations {
		n.t.Error(v)
	}
}

func (n *network) is(what, got, want string) {
	n.t.Helper()
	if got != want {
		n.t.Errorf("%s: %q, and not %q", what, got, want)
	}
}

var nothing = ads.ErrNoAd.Error()

func TestServe(t *testing.T) {
	t.Parallel()
	n := open(t, patterntest.Open(t))
	n.is("an empty zone", n.serve("u"), nothing)
	n.book(ids[0], 0, false)
	n.book(ids[1], 25, false)
	n.put(ads.Ad{ID: ids[2], Campaign: ids[0], Cost: 5, Content: "cheap"})
	n.put(ads.Ad{ID: ids[3], Campaign: ids[1], Cost: 10, Content: "dear"})
	n.put(ads.Ad{ID: ids[4], Campaign: ids[0], Cost: 20, Content: "shoes", Keywords: []string{"Shoes", "boots"}})
	n.is("the dearest", n.serve("u"), "dear")
	n.is("by keyword", n.serve("u", "SHOES"), "shoes")
	n.is("another keyword", n.serve("u", "hats"), "dear")
	n.is("the budget has 5 left", n.serve("u"), "cheap")
	n.must(n.Extend(t.Context(), ids[1], 5))
	n.is("and 10", n.serve("u"), "dear")
	n.is("and none", n.serve(""), "cheap")
	n.must(n.Extend(t.Context(), ids[1], 100))
	n.must(n.Stop(t.Context(), ids[1]))
	n.is("a campaign that is stopped", n.serve("u"), "cheap")
	n.clock.Advance(10 * day)
	n.is("a campaign that is over", n.serve("u", "boots"), nothing)
	c, err := n.Campaign(t.Context(), ids[1])
	if err != nil || c.Spent != 30 || c.Impressions != 3 ||
		c.Ads[ids[3].Hex()] != (ads.Counter{Impressions: 3, Spent: 30}) || len(c.Days) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	zones, err := n.Repair(t.Context())
	if err != nil || zones != 1 {
		t.Errorf("%d zones, %v", zones, err)
	}
	n.sound()
}

// TestEqualCost has advertisements with the same cost: the ones with more of the keywords come
// first, and each of the others is served at some time.
func TestEqualCost(t *testing.T) {
	t.Parallel()
	n := open(t, patterntest.Open(t))
	n.book(ids[0], 0, false)
	n.put(ads.Ad{ID: ids[1], Campaign: ids[0], Cost: 5, Content: "a"})
	n.put(ads.Ad{ID: ids[2], Campaign: ids[0], Cost: 5, Content: "b"})
	n.put(ads.Ad{ID: ids[3], Campaign: ids[0], Cost: 5, Content: "both", Keywords: []string{"x", "y"}})
	n.is("by two keywords", n.serve("", "x", "y"), "both")
	seen := map[string]bool{}
	for range 64 {
		seen[n.serve("")] = true
	}
	if len(seen) != 2 || seen["both"] {
		t.Errorf("%v", seen)
	}
}

// TestCap checks that the cap counts the impressions of a sliding window: a user sees the
// advertisement again an hour after an earlier impression.
func TestCap(t *testing.T) {
	t.Parallel()
	n := open(t, patterntest.Open(t))
	n.book(ids[0], 0, false)
	n.put(ads.Ad{ID: ids[1], Campaign: ids[0], Cost: 5, Content: "rare", Cap: 2, Window: time.Hour})
	n.is("first", n.serve("u"), "rare")
	n.clock.Advance(40 * time.Minute)
	n.is("second", n.serve("u"), "rare")
	n.is("third", n.serve("u"), nothing)
	n.is("another user", n.serve("v"), "rare")
	n.clock.Advance(20 * time.Minute)
	n.is("an hour after the first", n.serve("u"), "rare")
	n.is("and again", n.serve("u"), nothing)
	n.clock.Advance(39 * time.Minute)
	n.is("59 minutes after the second", n.serve("u"), nothing)
	n.clock.Advance(time.Minute)
	n.is("an hour after the second", n.serve("u"), "rare")
	n.sound()
}

// TestCapWithoutBudget shows nothing because the campaign has no money. This does not count as
// seen.
func TestCapWithoutBudget(t *testing.T) {
	t.Parallel()
	n := open(t, patterntest.Open(t))
	n.book(ids[0], 4, false)
	n.put(ads.Ad{ID: ids[1], Campaign: ids[0], Cost: 5, Content: "rare", Cap: 1, Window: time.Hour})
	n.is("too dear", n.serve("u"), nothing)
	n.must(n.Extend(t.Context(), ids[0], 1))
	n.is("as if it had never been tried", n.serve("u"), "rare")
	n.sound()
}

func TestEven(t *testing.T) {
	t.Parallel()
	n := open(t, patterntest.Open(t))
	n.book(ids[0], 100, true)
	n.put(ads.Ad{ID: ids[1], Campaign: ids[0], Cost: 10, Content: "ad"})
	n.is("at the beginning", n.serve(""), nothing)
	for range 10 {
		n.clock.Advance(day - time.Second)
		n.is("not yet", n.serve(""), nothing)
		n.clock.Advance(time.Second)
		if n.clock.Now().Before(patterntest.NewClock().Now().Add(10 * day)) {
			n.is("once a day", n.serve(""), "ad")
		}
	}
	n.sound()
}

func TestClicks(t *testing.T) {
	t.Parallel()
	n := open(t, patterntest.Open(t))
	n.book(ids[0], 0, false)
	n.put(ads.Ad{ID: ids[1], Campaign: ids[0], Cost: 10, Content: "ad"})
	for range 3 {
		i, err := n.Serve(t.Context(), ads.Request{Place: front})
		n.must(err)
		n.must(n.Click(t.Context(), *i, "u"))
		n.must(n.Click(t.Context(), *i, "u"))
	}
	got, err := n.Clicks(t.Context(), ids[0])
	if err != nil || got[ids[1]] != 3 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	n, ctx := open(t, patterntest.Open(t)), t.Context()
	now := n.clock.Now()
	n.book(ids[0], 10, false)
	good := ads.Ad{ID: ids[1], Campaign: ids[0], Cost: 1}
	n.put(good)
	book := func(c ads.Campaign) error {
		_, err := n.Book(ctx, c)
		return err
	}
	bad := func(change func(*ads.Ad)) error {
		ad := good
		ad.ID = ids[2]
		change(&ad)
		return n.Put(ctx, front, ad)
	}
	for name, c := range map[string]struct{ err, want error }{
		"no time":                {book(ads.Campaign{From: now, To: now}), ads.ErrBadCampaign},
		"too long":               {book(ads.Campaign{From: now, To: now.Add(1001 * day)}), ads.ErrBadCampaign},
		"a negative budget":      {book(ads.Campaign{From: now, To: now.Add(day), Budget: -1}), ads.ErrBadCampaign},
		"less than nothing":      {n.Extend(ctx, ids[0], -10), ads.ErrBadCampaign},
		"extend nothing":         {n.Extend(ctx, ids[5], 1), ads.ErrNotFound},
		"stop nothing":           {n.Stop(ctx, ids[5]), ads.ErrNotFound},
		"for nothing":            {bad(func(ad *ads.Ad) { ad.Cost = 0 }), ads.ErrBadAd},
		"a cap without a window": {bad(func(ad *ads.Ad) { ad.Cap = 1 }), ads.ErrBadAd},
		"a window without a cap": {bad(func(ad *ads.Ad) { ad.Window = 1 }), ads.ErrBadAd},
		"a great cap":            {bad(func(ad *ads.Ad) { ad.Cap, ad.Window = 101, 1 }), ads.ErrBadAd},
		"a long window":          {bad(func(ad *ads.Ad) { ad.Cap, ad.Window = 1, 91*day }), ads.ErrBadAd},
		"without an ID":          {bad(func(ad *ads.Ad) { ad.ID = bson.ObjectID{} }), ads.ErrBadAd},
		"of no campaign":         {bad(func(ad *ads.Ad) { ad.Campaign = ids[5] }), ads.ErrNotFound},
		"twice":                  {n.Put(ctx, front, good), ads.ErrPlaced},
		"another one":            {bad(func(*ads.Ad) {}), nil},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v, and not %v", name, c.err, c.want)
		}
	}
	n.sound()
}

func TestFull(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	n := open(t, db)
	n.book(ids[0], 0, false)
	var many bson.A
	for range ads.MaxAds {
		many = append(many, ads.Ad{ID: bson.NewObjectID(), Campaign: ids[0], Cost: 1})
	}
	_, err := db.Collection("zones").InsertOne(t.Context(), bson.D{{"_id", front}, {"ads", many}})
	n.must(err)
	if err := n.Put(t.Context(), front, ads.Ad{ID: ids[1], Campaign: ids[0], Cost: 1}); !errors.Is(err, ads.ErrFull) {
		t.Errorf("one more: %v", err)
	}
}

// TestConcurrent sends many requests at the same time: a budget pays for exactly 50 impressions,
// and each user sees the capped advertisement exactly twice.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	const workers, rounds = 8, 20
	n := open(t, patterntest.Open(t))
	n.book(ids[0], 500, false)
	n.book(ids[1], 0, false)
	n.put(ads.Ad{ID: ids[2], Campaign: ids[0], Cost: 10, Content: "scarce"})
	n.put(ads.Ad{ID: ids[3], Campaign: ids[1], Cost: 9, Content: "rare", Cap: 2, Window: time.Hour})
	var scarce, rare atomic.Int64
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for range rounds {
				switch got := n.serve(fmt.Sprint("u", w%4)); got {
				case "scarce":
					scarce.Add(1)
				case "rare":
					rare.Add(1)
				case nothing:
				default:
					t.Error(got)
				}
			}
		})
	}
	wg.Wait()
	if scarce.Load() != 50 || rare.Load() != 8 {
		t.Errorf("%d of the budget's 50 and %d of the users' 8", scarce.Load(), rare.Load())
	}
	n.sound()
}

// TestCrash lets the process die at every point of Serve and of Stop.
func TestCrash(t *testing.T) {
	t.Parallel()
	setup := func(t *testing.T, db *mongo.Database) {
		n := open(t, db)
		n.book(ids[0], 10, false)
		n.put(ads.Ad{ID: ids[1], Campaign: ids[0], Cost: 10, Content: "ad", Cap: 1, Window: time.Hour})
	}
	t.Run("serve", func(t *testing.T) {
		t.Parallel()
		patterntest.Crash(t, patterntest.Scenario{
			Setup: setup,
			Operation: func(ctx context.Context, db *mongo.Database) error {
				a, err := ads.New(db, ads.Config{Env: patterns.Env{Clock: patterntest.NewClock()}})
				if err != nil {
					return err
				}
				_, err = a.Serve(ctx, ads.Request{Place: front, User: "u"})
				return err
			},
			After: func(t *testing.T, db *mongo.Database, death patterntest.Death) {
				n := open(t, db)
				n.sound()
				c, err := n.Campaign(t.Context(), ids[0])
				if err != nil || c.Spent > 10 || (death.Err == nil) != (c.Spent == 10) && death.Survived {
					t.Errorf("%v: %+v, %v", death, c, err)
				}
				n.clock.Advance(time.Hour)
				if got, want := n.serve("u"), map[int64]string{0: "ad", 10: nothing}[c.Spent]; got != want {
					t.Errorf("%v: then %s, and not %s", death, got, want)
				}
			},
		})
	})
	t.Run("stop", func(t *testing.T) {
		t.Parallel()
		patterntest.Crash(t, patterntest.Scenario{
			Setup: setup,
			Operation: func(ctx context.Context, db *mongo.Database) error {
				a, err := ads.New(db, ads.Config{})
				if err != nil {
					return err
				}
				return a.Stop(ctx, ids[0])
			},
			After: func(t *testing.T, db *mongo.Database, death patterntest.Death) {
				n := open(t, db)
				if _, err := n.Repair(t.Context()); err != nil {
					t.Fatal(err)
				}
				n.sound()
				if got := n.serve("u"); death.Err == nil && got != nothing {
					t.Errorf("%v: %s", death, got)
				}
			},
		})
	})
}

// TestCrashPut lets the process die at every point of Put, and of the Repair that removes
// advertisements whose campaign has ended.
func TestCrashPut(t *testing.T) {
	t.Parallel()
	points := patterntest.Crash(t, patterntest.Scenario{
		Setup: func(t *testing.T, db *mongo.Database) {
			n := open(t, db)
			n.book(ids[0], 0, false)
			n.book(ids[1], 0, false)
			n.put(ads.Ad{ID: ids[2], Campaign: ids[1], Cost: 9, Content: "over"})
		},
		Operation: func(ctx context.Context, db *mongo.Database) error {
			a, err := ads.New(db, ads.Config{Env: patterns.Env{Clock: patterntest.NewClock()}})
			if err != nil {
				return err
			}
			if err := a.Put(ctx, front, ads.Ad{ID: ids[3], Campaign: ids[0], Cost: 10, Content: "new"}); err != nil {
				return err
			}
			if _, err := db.Collection("campaigns").
				UpdateByID(ctx, ids[1], bson.D{{"$set", bson.D{{"stopped", true}}}}); err != nil {
				return err
			}
			_, err = a.Repair(ctx)
			return err
		},
		After: func(t *testing.T, db *mongo.Database, death patterntest.Death) {
			n := open(t, db)
			if _, err := n.Repair(t.Context()); err != nil {
				t.Fatal(err)
			}
			n.sound()
			want := "over"
			if death.Commands > 1 {
				want = "new"
			}
			n.is(death.String(), n.serve("u"), want)
			n.must(n.Remove(t.Context(), front, ids[3]))
			if want = "over"; death.Commands > 2 {
				want = nothing
			}
			n.is(death.String(), n.serve("u"), want)
		},
	})
	if points < 8 {
		t.Errorf("%d points", points)
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	n := open(t, db)
	n.book(ids[0], 0, false)
	n.put(ads.Ad{ID: ids[1], Campaign: ids[0], Cost: 1})
	n.clock.Advance(11 * day)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- n.Run(ctx) }()
	for {
		left, err := db.Collection("zones").CountDocuments(t.Context(), bson.D{{"ads.campaign", ids[0]}})
		n.must(err)
		if left == 0 {
			break
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestNoScans(t *testing.T) {
	t.Parallel()
	server := patterntest.Start(t)
	n := open(t, server.Database())
	n.book(ids[0], 1000, false)
	n.put(ads.Ad{ID: ids[1], Campaign: ids[0], Cost: 10, Content: "ad", Cap: 1, Window: time.Hour})
	explained := server.NoScans(t, func(ctx context.Context, db *mongo.Database) {
		watched := open(t, db)
		i, err := watched.Serve(ctx, ads.Request{Place: front, User: "u"})
		watched.must(err)
		watched.serve("u")
		watched.must(watched.Click(ctx, *i, "u"))
		_, err = watched.Clicks(ctx, ids[0])
		watched.must(err)
		_, err = watched.Repair(ctx)
		watched.must(err)
		watched.must(watched.Remove(ctx, front, ids[1]))
		watched.must(watched.Stop(ctx, ids[0]))
	})
	if explained < 10 {
		t.Errorf("%d commands were explained", explained)
	}
}

func TestViolations(t *testing.T) {
	t.Parallel()
	set := func(key string, value any) bson.D {
		return bson.D{{"$set", bson.D{{key, value}}}}
	}
	one := ads.Ad{ID: ids[1], Campaign: ids[0], Cost: 10, Cap: 1, Window: time.Hour}
	dear := ads.Ad{ID: ids[2], Campaign: ids[0], Cost: 20}
	at := func(minutes ...int) (out bson.A) {
		for _, m := range minutes {
			out = append(out, bson.D{{"at", patterntest.NewClock().Now().Add(time.Duration(m) * time.Minute)}})
		}
		return out
	}
	today := "days." + patterntest.NewClock().Now().Format("20060102")
	for name, c := range map[string]struct {
		rule   string
		coll   string
		id     any
		change bson.D
	}{
		"budget":           {ads.RuleBudget, "campaigns", ids[0], set("budget", 5)},
		"spent":            {ads.RuleCounters, "campaigns", ids[0], set("spent", 11)},
		"impressions":      {ads.RuleCounters, "campaigns", ids[0], set("impressions", 2)},
		"by day":           {ads.RuleCounters, "campaigns", ids[0], set(today+".impressions", 0)},
		"by advertisement": {ads.RuleCounters, "campaigns", ids[0], set("ads."+ids[1].Hex()+".spent", 9)},
		"order":            {ads.RuleOrder, "zones", front, set("ads", bson.A{one, dear})},
		"twice":            {ads.RuleOnce, "zones", front, set("ads", bson.A{one, one})},
		"no campaign":      {ads.RuleCampaign, "zones", front, set("ads.0.campaign", ids[5])},
		"stopped campaign": {ads.RuleCampaign, "campaigns", ids[0], set("stopped", true)},
		"cap":              {ads.RuleCap, "profiles", "u", set("seen."+ids[1].Hex(), at(0, 59))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := patterntest.Open(t)
			n := open(t, db)
			n.book(ids[0], 100, false)
			n.put(one)
			n.serve("u")
			n.sound()
			_, err := db.Collection(c.coll).UpdateByID(t.Context(), c.id, c.change)
			n.must(err)
			violations, err := n.Check(t.Context())
			if err != nil || len(violations) != 1 || violations[0].Rule != c.rule {
				t.Errorf("%v, %v", violations, err)
			}
		})
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	if _, err := ads.New(db, ads.Config{Sweep: -1}); err == nil {
		t.Error("a negative time was taken")
	}
	a, err := ads.New(db, ads.Config{Prefix: "x_"})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Shard(t.Context()); !errors.Is(err, patterns.ErrNotSharded) {
		t.Errorf("shard: %v", err)
	}
	if !slices.ContainsFunc(a.Indexes(),
		func(ix patterns.Index) bool { return strings.HasPrefix(ix.Collection, "x_zones") }) {
		t.Errorf("%v", a.Indexes())
	}
}
