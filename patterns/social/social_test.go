package social_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/patterntest"
	"github.com/sheafdb/sheaf/patterns/social"
)

func open(t *testing.T, db *mongo.Database, cfg social.Config) *social.Network {
	t.Helper()
	n, err := social.New(db, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.EnsureIndexes(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	return n
}

// must fails the test if one of the errors is not nil.
func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func post(t *testing.T, n *social.Network, author, text string, circles ...string) bson.ObjectID {
	t.Helper()
	id, err := n.Post(t.Context(), social.Post{Author: author, Text: text, Circles: circles})
	must(t, err)
	return id
}

func texts(items []social.Item, err error) string {
	var out []string
	for _, it := range items {
		out = append(out, it.Text)
	}
	if err != nil {
		out = append(out, err.Error())
	}
	return strings.Join(out, " ")
}

func feed(t *testing.T, n *social.Network, user string) string {
	t.Helper()
	return texts(n.Feed(t.Context(), user))
}

func mustBeRight(t *testing.T, n *social.Network) {
	t.Helper()
	violations, err := n.Check(t.Context())
	if err != nil || len(violations) > 0 {
		t.Errorf("check: %v, %v", violations, err)
	}
}

func TestFeed(t *testing.T) {
	t.Parallel()
	// cy has more followers than PushLimit.
	clock := patterntest.NewClock()
	n := open(t, patterntest.Open(t), social.Config{Env: patterns.Env{Clock: clock}, PushLimit: 2})
	ctx := t.Context()
	must(t, n.Follow(ctx, "joe", "ann"), n.Follow(ctx, "sam", "ann"), n.Follow(ctx, "joe", "ann"),
		n.Follow(ctx, "joe", "cy"), n.Follow(ctx, "sam", "cy"), n.Follow(ctx, "eve", "cy"),
		n.SetCircles(ctx, "ann", "joe", "family"), n.SetCircles(ctx, "cy", "joe", "fans"))
	for _, p := range [][]string{
		{"ann", "a1"},
		{"cy", "c1"},
		{"ann", "a2", "family"},
		{"cy", "c2", "fans"},
		{"ann", "a3", "work"},
	} {
		clock.Advance(1e9)
		post(t, n, p[0], p[1], p[2:]...)
	}
	for user, want := range map[string]string{"joe": "c2 a2 c1 a1", "sam": "c1 a1", "eve": "c1", "ann": ""} {
		if got := feed(t, n, user); got != want {
			t.Errorf("%s reads %q, want %q", user, got, want)
		}
	}
	for viewer, want := range map[string]string{"ann": "a3 a2 a1", "joe": "a2 a1", "stranger": "a1"} {
		if got := texts(n.Wall(ctx, "ann", viewer, bson.ObjectID{})); got != want {
			t.Errorf("%s sees %q, want %q", viewer, got, want)
		}
	}
	wall, err := n.Wall(ctx, "ann", "ann", bson.ObjectID{})
	must(t, err)
	if got := texts(n.Wall(ctx, "ann", "ann", wall[1].ID)); got != "a1" {
		t.Errorf("before a post: %q", got)
	}
	if c, err := n.Followers(ctx, "cy"); c != 3 || err != nil {
		t.Errorf("%d, %v", c, err)
	}
	must(t, n.Unfollow(ctx, "joe", "ann"))
	if got := feed(t, n, "joe"); got != "c2 c1" {
		t.Errorf("after unfollowing: %q", got)
	}
	mustBeRight(t, n)
}

func TestBlock(t *testing.T) {
	t.Parallel()
	n := open(t, patterntest.Open(t), social.Config{})
	ctx := t.Context()
	must(t, n.Follow(ctx, "joe", "ann"), n.Follow(ctx, "ann", "joe"))
	post(t, n, "ann", "a1")
	must(t, n.Block(ctx, "ann", "joe"))
	if got := feed(t, n, "joe"); got != "" {
		t.Errorf("joe reads %q", got)
	}
	_, wall := n.Wall(ctx, "ann", "joe", bson.ObjectID{})
	_, message := n.Send(ctx, social.Message{From: "joe", To: []string{"ann"}, Text: "x"})
	for what, err := range map[string]error{
		"wall": wall, "message": message, "follow": n.Follow(ctx, "joe", "ann"),
		"the other way": n.Follow(ctx, "ann", "joe"),
	} {
		if !errors.Is(err, social.ErrBlocked) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := n.Send(ctx, social.Message{From: "joe", To: []string{"ann", "sam"}, Text: "x"}); err != nil {
		t.Error(err)
	}
	if got := texts(n.Inbox(ctx, "sam")) + texts(n.Inbox(ctx, "ann")); got != "x" {
		t.Errorf("inboxes: %q", got)
	}
	must(t, n.Unblock(ctx, "ann", "joe"), n.Follow(ctx, "joe", "ann"))
	mustBeRight(t, n)
	for _, err := range []error{n.Follow(ctx, "ann", "ann"), n.Block(ctx, "ann", "ann")} {
		if !errors.Is(err, social.ErrSelf) {
			t.Error(err)
		}
	}
}

// TestInbox fills buckets, as in worked example W115. Here the first bucket takes 50 items too.
func TestInbox(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	n := open(t, db, social.Config{})
	ctx := t.Context()
	for i := range 120 {
		_, err := n.Send(ctx, social.Message{From: "ann", To: []string{"joe", "joe"}, Text: fmt.Sprint(i)})
		must(t, err)
		if i == 99 {
			must(t, n.MarkRead(ctx, "joe"))
		}
	}
	items, err := n.Inbox(ctx, "joe")
	must(t, err)
	if len(items) != 70 || items[0].Text != "119" || items[69].Text != "50" {
		t.Errorf("%d messages, %s to %s", len(items), items[0].Text, items[len(items)-1].Text)
	}
	if c, err := db.Collection("inbox").CountDocuments(ctx, bson.D{{"owner", "joe"}}); c != 3 || err != nil {
		t.Errorf("%d buckets, %v", c, err)
	}
	if m, p, err := n.Unread(ctx, "joe"); m != 20 || p != 0 || err != nil {
		t.Errorf("%d, %d unread, %v", m, p, err)
	}
	mustBeRight(t, n)
}

func TestDelete(t *testing.T) {
	t.Parallel()
	clock := patterntest.NewClock()
	n := open(t, patterntest.Open(t), social.Config{Env: patterns.Env{Clock: clock}})
	ctx := t.Context()
	must(t, n.Follow(ctx, "joe", "ann"))
	post(t, n, "ann", "a1")
	id := post(t, n, "ann", "a2")
	if err := n.DeletePost(ctx, "joe", id); !errors.Is(err, social.ErrNotFound) {
		t.Errorf("the post of another: %v", err)
	}
	must(t, n.DeletePost(ctx, "ann", id))
	if got := feed(t, n, "joe") + "/" + texts(n.Wall(ctx, "ann", "joe", bson.ObjectID{})); got != "a1/a1" {
		t.Errorf("left: %q", got)
	}
	clock.Advance(social.DefaultLease)
	if done, err := n.Finish(ctx); done != 1 || err != nil {
		t.Errorf("%d, %v", done, err)
	}
	message, err := n.Send(ctx, social.Message{From: "ann", To: []string{"joe"}, Text: "x"})
	must(t, err, n.DeleteMessage(ctx, "ann", message))
	if got := texts(n.Inbox(ctx, "joe")); got != "" {
		t.Errorf("inbox: %q", got)
	}
	mustBeRight(t, n)
}

func TestProfileAndBounds(t *testing.T) {
	t.Parallel()
	n := open(t, patterntest.Open(t), social.Config{})
	ctx := t.Context()
	must(t, n.SetProfile(ctx, social.Profile{ID: "ann", Name: "A"}),
		n.SetProfile(ctx, social.Profile{ID: "ann", Name: "Ann"}))
	if p, err := n.Profile(ctx, "ann"); p.Name != "Ann" || err != nil {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := n.Profile(ctx, "none"); !errors.Is(err, social.ErrNotFound) {
		t.Error(err)
	}
	long := strings.Repeat("x", social.MaxText+1)
	_, err1 := n.Post(ctx, social.Post{Author: "ann", Text: long})
	_, err2 := n.Send(ctx, social.Message{From: "ann", To: []string{"joe"}, Text: long})
	for _, err := range []error{err1, err2, n.SetProfile(ctx, social.Profile{ID: "ann", About: long})} {
		if !errors.Is(err, social.ErrTooLong) {
			t.Error(err)
		}
	}
	if err := n.SetCircles(ctx, "ann", "nobody"); !errors.Is(err, social.ErrNotFound) {
		t.Error(err)
	}
	if err := n.Shard(ctx); !errors.Is(err, patterns.ErrNotSharded) {
		t.Error(err)
	}
	if _, err := social.New(nil, social.Config{PushLimit: -1}); err == nil {
		t.Error("a negative limit is accepted")
	}
}

// TestShardKeys checks that a user's own buckets, and the list of users that the user follows, are
// on one shard.
func TestShardKeys(t *testing.T) {
	t.Parallel()
	n := open(t, patterntest.Open(t), social.Config{})
	got := map[string]string{}
	for _, k := range n.ShardKeys() {
		got[k.Collection] = k.Key[0].Key
	}
	want := map[string]string{
		"inbox": "owner", "feeds": "owner", "posts": "author", "follows": "from",
		"blocks": "from", "users": "_id",
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestCheck violates each rule, and expects Check to find the violation. It does not create the
// indexes, which would prevent some violations.
func TestCheck(t *testing.T) {
	t.Parallel()
	id, now := bson.NewObjectID(), patterntest.NewClock().Now()
	it := bson.D{{"_id", id}}
	bucket := func(open bool, count, unread int, items ...any) bson.D {
		return bson.D{
			{"owner", "joe"},
			{"open", open},
			{"n", count},
			{"unread", unread},
			{"items", append(bson.A{}, items...)},
		}
	}
	letter := bson.D{{"_id", id}, {"state", "sent"}, {"to", bson.A{}}}
	var many []any
	for i := range 51 {
		many = append(many, bson.D{{"_id", i}, {"gone", true}})
	}
	for _, c := range []struct {
		rule string
		docs map[string][]bson.D
	}{
		{social.RuleBucket, map[string][]bson.D{"inbox": {bucket(true, 2, 0, it)}, "messages": {letter}}},
		{social.RuleBucket, map[string][]bson.D{"inbox": {bucket(false, 1, 0, it)}, "messages": {letter}}},
		{social.RuleBucket, map[string][]bson.D{"inbox": {bucket(false, 51, 0, many...)}}},
		{social.RuleOpen, map[string][]bson.D{"feeds": {bucket(true, 0, 0), bucket(true, 0, 0)}}},
		{social.RuleOnce, map[string][]bson.D{"feeds": {bucket(true, 2, 0, it, it)}, "posts": {letter}}},
		{social.RuleUnread, map[string][]bson.D{"feeds": {bucket(true, 0, 1)}}},
		{social.RuleUnread, map[string][]bson.D{"feeds": {bucket(true, 0, -1)}}},
		{social.RuleFinished, map[string][]bson.D{"posts": {{{"state", "sending"}, {"until", now}}}}},
		{social.RuleDelivered, map[string][]bson.D{"messages": {{{"state", "sent"}, {"to", bson.A{"joe"}}}}}},
		{social.RuleDeleted, map[string][]bson.D{"feeds": {bucket(true, 1, 0, it)}}},
		{social.RuleBlocked, map[string][]bson.D{
			"blocks":  {{{"from", "a"}, {"to", "b"}}},
			"follows": {{{"from", "b"}, {"to", "a"}}},
		}},
	} {
		db := patterntest.Open(t)
		n, err := social.New(db, social.Config{Env: patterns.Env{Clock: patterntest.NewClock()}})
		must(t, err)
		for coll, docs := range c.docs {
			_, err := db.Collection(coll).InsertMany(t.Context(), docs)
			must(t, err)
		}
		violations, err := n.Check(t.Context())
		if err != nil || len(violations) != 1 || violations[0].Rule != c.rule {
			t.Errorf("%s: %v, %v", c.rule, violations, err)
		}
		if c.rule == social.RuleDeleted || c.rule == social.RuleBlocked {
			if done, err := n.Repair(t.Context()); done != 1 || err != nil {
				t.Errorf("repair: %d, %v", done, err)
			}
			mustBeRight(t, n)
		}
	}
}

// TestCrash lets a process die in every operation that takes several commands. Afterwards each
// letter that was stored is delivered once, and the same operations can be repeated.
func TestCrash(t *testing.T) {
	t.Parallel()
	first, second, message := bson.NewObjectID(), bson.NewObjectID(), bson.NewObjectID()
	work := func(ctx context.Context, n *social.Network) error {
		for _, p := range []social.Post{
			{ID: first, Author: "ann", Text: "one"},
			{ID: second, Author: "ann", Text: "two"},
		} {
			if _, err := n.Post(ctx, p); err != nil {
				return err
			}
		}
		if _, err := n.Send(ctx,
			social.Message{ID: message, From: "ann", To: []string{"joe", "sam"}, Text: "hello"}); err != nil {
			return err
		}
		if err := n.DeletePost(ctx, "ann", first); err != nil && !errors.Is(err, social.ErrNotFound) {
			return err
		}
		if err := n.Follow(ctx, "eve", "ann"); err != nil && !errors.Is(err, social.ErrBlocked) {
			return err
		}
		return n.Block(ctx, "ann", "eve")
	}
	patterntest.Crash(t, patterntest.Scenario{
		Setup: func(t *testing.T, db *mongo.Database) {
			n := open(t, db, social.Config{})
			must(t, n.Follow(t.Context(), "joe", "ann"), n.Follow(t.Context(), "sam", "ann"))
		},
		Operation: func(ctx context.Context, db *mongo.Database) error {
			n, err := social.New(db, social.Config{Env: patterns.Env{Clock: patterntest.NewClock()}})
			if err != nil {
				return err
			}
			return work(ctx, n)
		},
		After: func(t *testing.T, db *mongo.Database, death patterntest.Death) {
			clock := patterntest.NewClock()
			n := open(t, db, social.Config{Env: patterns.Env{Clock: clock}})
			clock.Advance(social.DefaultLease)
			_, err := n.Repair(t.Context())
			must(t, err)
			mustBeRight(t, n)
			joe, sam := feed(t, n, "joe")+texts(n.Inbox(t.Context(), "joe")),
				feed(t, n, "sam")+texts(n.Inbox(t.Context(), "sam"))
			if joe != sam {
				t.Errorf("joe has %q, sam %q", joe, sam)
			}
			if death.Survived {
				return
			}
			must(t, work(t.Context(), n))
			clock.Advance(social.DefaultLease)
			_, err = n.Repair(t.Context())
			must(t, err)
			mustBeRight(t, n)
			for _, user := range []string{"joe", "sam"} {
				if got := texts(n.Inbox(t.Context(), user)); got != "hello" {
					t.Errorf("%s has %q", user, got)
				}
				if got := feed(t, n, user); got != "two" {
					t.Errorf("%s reads %q", user, got)
				}
			}
		},
	})
}

// TestCrashInbox lets the process die while it deletes a message, and while it marks all messages
// as read.
func TestCrashInbox(t *testing.T) {
	t.Parallel()
	id := bson.NewObjectID()
	work := func(ctx context.Context, n *social.Network) error {
		if err := n.DeleteMessage(ctx, "ann", id); err != nil && !errors.Is(err, social.ErrNotFound) {
			return err
		}
		return n.MarkRead(ctx, "joe")
	}
	points := patterntest.Crash(t, patterntest.Scenario{
		Setup: func(t *testing.T, db *mongo.Database) {
			n := open(t, db, social.Config{Env: patterns.Env{Clock: patterntest.NewClock()}})
			must(t, n.Follow(t.Context(), "joe", "ann"))
			for _, m := range []social.Message{{ID: id, Text: "wrong"}, {Text: "right"}} {
				m.From, m.To = "ann", []string{"joe", "sam"}
				_, err := n.Send(t.Context(), m)
				must(t, err)
			}
			_, err := n.Post(t.Context(), social.Post{Author: "ann", Text: "one"})
			must(t, err)
		},
		Operation: func(ctx context.Context, db *mongo.Database) error {
			n, err := social.New(db, social.Config{Env: patterns.Env{Clock: patterntest.NewClock()}})
			if err != nil {
				return err
			}
			return work(ctx, n)
		},
		After: func(t *testing.T, db *mongo.Database, _ patterntest.Death) {
			clock := patterntest.NewClock()
			n := open(t, db, social.Config{Env: patterns.Env{Clock: clock}})
			clock.Advance(social.DefaultLease)
			_, err := n.Repair(t.Context())
			must(t, err)
			mustBeRight(t, n)
			must(t, work(t.Context(), n))
			mustBeRight(t, n)
			for _, user := range []string{"joe", "sam"} {
				if got := texts(n.Inbox(t.Context(), user)); got != "right" {
					t.Errorf("%s has %q", user, got)
				}
			}
			if messages, posts, err := n.Unread(t.Context(), "joe"); messages+posts != 0 || err != nil {
				t.Errorf("%d, %d, %v", messages, posts, err)
			}
		},
	})
	if points < 8 {
		t.Errorf("%d points", points)
	}
}

// TestTogether lets many goroutines send to the same inboxes at the same time, each message twice.
// Each message arrives once.
func TestTogether(t *testing.T) {
	t.Parallel()
	const senders, rounds = 4, 30
	db := patterntest.Open(t)
	n := open(t, db, social.Config{})
	var wg sync.WaitGroup
	ids := [rounds]bson.ObjectID{}
	for i := range ids {
		ids[i] = bson.NewObjectID()
	}
	for s := range senders {
		wg.Go(func() {
			for i := range rounds {
				m := social.Message{From: fmt.Sprint("s", s), To: []string{"joe", "sam"}, Text: "x"}
				if s < 2 { // two goroutines send the same messages
					m.From, m.ID = "twins", ids[i]
				}
				if _, err := n.Send(t.Context(), m); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	mustBeRight(t, n)
	for _, user := range []string{"joe", "sam"} {
		if m, _, err := n.Unread(t.Context(), user); m != (senders-1)*rounds || err != nil {
			t.Errorf("%s has %d messages, %v", user, m, err)
		}
	}
}

func TestNoScans(t *testing.T) {
	t.Parallel()
	server := patterntest.Start(t)
	open(t, server.Database(), social.Config{})
	count := server.NoScans(t, func(ctx context.Context, db *mongo.Database) {
		n, err := social.New(db, social.Config{})
		must(t, err, n.SetProfile(ctx, social.Profile{ID: "ann"}),
			n.Follow(ctx, "joe", "ann"), n.Follow(ctx, "sam", "ann"))
		must(t, n.SetCircles(ctx, "ann", "joe", "family"))
		_, err = n.Post(ctx, social.Post{Author: "ann", Text: "x", Circles: []string{"family"}})
		id, err2 := n.Post(ctx, social.Post{Author: "ann", Text: "x"})
		_, err3 := n.Send(ctx, social.Message{From: "ann", To: []string{"joe"}, Text: "x"})
		_, err4 := n.Feed(ctx, "joe")
		_, err5 := n.Wall(ctx, "ann", "joe", id)
		_, _, err6 := n.Unread(ctx, "joe")
		_, err7 := n.Finish(ctx)
		_, err8 := n.Inbox(ctx, "joe")
		must(t, err, err2, err3, err4, err5, err6, err7, err8)
		must(t, n.MarkRead(ctx, "joe"), n.DeletePost(ctx, "ann", id),
			n.Block(ctx, "ann", "sam"), n.Unblock(ctx, "ann", "sam"),
			n.Unfollow(ctx, "joe", "ann"))
	})
	if count < 30 {
		t.Errorf("%d commands explained", count)
	}
}
