package comments_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"pgregory.net/rapid"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/comments"
	"github.com/sheafdb/sheaf/patterns/patterntest"
)

var all = []comments.Design{comments.Documents, comments.Embedded, comments.Pages}

func designs(t *testing.T, test func(t *testing.T, d comments.Design)) {
	t.Parallel()
	for _, d := range all {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			test(t, d)
		})
	}
}

var post = comments.Target{Kind: "posts", ID: int32(1)}

const pageSize = 3

// blog posts comments one second apart.
type blog struct {
	*comments.Comments
	t     testing.TB
	clock *patterntest.Clock
	ids   map[string]comments.ID
}

func open(t testing.TB, db *mongo.Database, d comments.Design) *blog {
	t.Helper()
	b := &blog{t: t, clock: patterntest.NewClock(), ids: map[string]comments.ID{}}
	c, err := comments.New(db, comments.Config{Env: patterns.Env{Clock: b.clock}, Design: d, PageSize: pageSize})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.EnsureIndexes(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Comments = c
	return b
}

// say posts a text, or replies with it.
func (b *blog) say(to, text string) {
	b.t.Helper()
	b.clock.Advance(time.Second)
	c, err := comments.Comment{}, error(nil)
	if to == "" {
		c, err = b.Post(b.t.Context(), post, "ada", text)
	} else {
		c, err = b.Reply(b.t.Context(), post, b.ids[to], "bob", text)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	b.ids[text] = c.ID
}

func texts(list []comments.Comment, err error) string {
	if err != nil {
		return err.Error()
	}
	out := make([]string, len(list))
	for i, c := range list {
		out[i] = c.Text
	}
	return strings.Join(out, " ")
}

func equal(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %q, and not %q", what, got, want)
	}
}

func sound(t testing.TB, c *comments.Comments) {
	t.Helper()
	violations, err := c.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range violations {
		t.Error(v)
	}
}

// thread posts these comments:
//
//	a
//	├ b
//	│ └ e
//	└ d
//	c
//	└ f
func thread(t testing.TB, db *mongo.Database, d comments.Design) *blog {
	t.Helper()
	b := open(t, db, d)
	for _, c := range [][2]string{{"", "a"}, {"a", "b"}, {"", "c"}, {"a", "d"}, {"b", "e"}, {"c", "f"}} {
		b.say(c[0], c[1])
	}
	return b
}

func TestLists(t *testing.T) {
	designs(t, func(t *testing.T, d comments.Design) {
		b := thread(t, patterntest.Open(t), d)
		page := func(r comments.Range) string { return texts(b.Page(t.Context(), post, r)) }
		under := func(root string, r comments.Range) string {
			return texts(b.Thread(t.Context(), post, b.ids[root], r))
		}
		equal(t, "all", page(comments.Range{Limit: 10}), "a b c d e f")
		equal(t, "two after three", page(comments.Range{Skip: 3, Limit: 2}), "d e")
		equal(t, "over the pages' border", page(comments.Range{Skip: 2, Limit: 3}), "c d e")
		equal(t, "after one", page(comments.Range{After: b.ids["c"], Limit: 2}), "d e")
		equal(t, "after the last", page(comments.Range{After: b.ids["f"], Limit: 2}), "")
		equal(t, "behind the last", page(comments.Range{Skip: 6, Limit: 2}), "")
		equal(t, "after nobody", page(comments.Range{After: "x", Limit: 2}), comments.ErrNotFound.Error())
		equal(t, "thread", under("", comments.Range{Limit: 10}), "a b e d c f")
		equal(t, "a part of it", under("", comments.Range{Skip: 1, Limit: 3}), "b e d")
		equal(t, "after one of it", under("", comments.Range{After: b.ids["e"], Limit: 2}), "d c")
		equal(t, "below one", under("a", comments.Range{Limit: 10}), "a b e d")
		equal(t, "below one, after another", under("a", comments.Range{After: b.ids["b"], Limit: 10}), "e d")
		equal(t, "below nobody", under("zz", comments.Range{Limit: 10}), "a b e d c f")
		equal(t, "of nothing", texts(b.Page(t.Context(), comments.Target{Kind: "posts", ID: "1"},
			comments.Range{Limit: 10})), "")
		equal(t, "thread of nothing",
			texts(b.Thread(t.Context(), comments.Target{Kind: "pictures", ID: int32(1)}, "",
				comments.Range{Limit: 10})), "")
		sound(t, b.Comments)
	})
}

func TestChanges(t *testing.T) {
	designs(t, func(t *testing.T, d comments.Design) {
		b, ctx := thread(t, patterntest.Open(t), d), t.Context()
		count := func() int64 {
			n, err := b.Count(ctx, post)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		if n := count(); n != 6 {
			t.Errorf("%d comments", n)
		}
		if err := errors.Join(b.Edit(ctx, post, b.ids["b"], "B"), b.Delete(ctx, post, b.ids["a"])); err != nil {
			t.Fatal(err)
		}
		equal(t, "the place of a deleted one",
			texts(b.Thread(ctx, post, b.ids["a"], comments.Range{Limit: 10})), " B e d")
		got, err := b.Get(ctx, post, b.ids["a"])
		if err != nil || !got.Deleted || got.Author != "" || got.Depth() != 0 {
			t.Errorf("%+v, %v", got, err)
		}
		got, err = b.Get(ctx, post, b.ids["e"])
		if err != nil || got.Parent != b.ids["b"] || got.Depth() != 2 || got.Author != "bob" || !got.Edited.IsZero() {
			t.Errorf("%+v, %v", got, err)
		}
		if n := count(); n != 5 {
			t.Errorf("%d comments that are not deleted", n)
		}
		_, replyErr := b.Reply(ctx, post, b.ids["a"], "x", "x")
		_, nobodyErr := b.Reply(ctx, post, "nobody", "x", "x")
		_, emptyErr := b.Post(ctx, post, "x", "")
		_, getErr := b.Get(ctx, comments.Target{Kind: "posts", ID: int32(2)}, b.ids["b"])
		_, pageErr := b.Page(ctx, post, comments.Range{})
		if pageErr == nil {
			t.Error("a page without a limit")
		}
		for name, c := range map[string]struct{ err, want error }{
			"reply to a deleted one": {replyErr, comments.ErrDeleted},
			"reply to nobody":        {nobodyErr, comments.ErrNotFound},
			"edit a deleted one":     {b.Edit(ctx, post, b.ids["a"], "x"), comments.ErrDeleted},
			"delete it again":        {b.Delete(ctx, post, b.ids["a"]), comments.ErrDeleted},
			"edit nobody":            {b.Edit(ctx, post, "nobody", "x"), comments.ErrNotFound},
			"no text":                {emptyErr, comments.ErrBadText},
			"a long text": {b.Edit(ctx, post, b.ids["b"],
				strings.Repeat("x", comments.DefaultMaxText+1)), comments.ErrBadText},
			"on another target": {getErr, comments.ErrNotFound},
		} {
			if !errors.Is(c.err, c.want) {
				t.Errorf("%s: %v, and not %v", name, c.err, c.want)
			}
		}
		sound(t, b.Comments)
	})
}

func TestLimits(t *testing.T) {
	designs(t, func(t *testing.T, d comments.Design) {
		c, err := comments.New(patterntest.Open(t), comments.Config{Design: d, MaxDepth: 1, Limit: 2, PageSize: 2})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.EnsureIndexes(t.Context()); err != nil {
			t.Fatal(err)
		}
		first, err := c.Post(t.Context(), post, "a", "x")
		if err != nil {
			t.Fatal(err)
		}
		second, err := c.Reply(t.Context(), post, first.ID, "a", "x")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Reply(t.Context(), post, second.ID, "a", "x"); !errors.Is(err, comments.ErrTooDeep) {
			t.Errorf("a reply to a reply: %v", err)
		}
		_, err = c.Post(t.Context(), post, "a", "x")
		if want := map[comments.Design]error{comments.Embedded: comments.ErrFull}[d]; !errors.Is(err, want) {
			t.Errorf("a third one: %v", err)
		}
		sound(t, c)
	})
}

// TestDesignsAgree posts the same comments with all designs, and compares all lists with each
// other.
func TestDesignsAgree(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	rapid.Check(t, func(rt *rapid.T) {
		if err := db.Drop(t.Context()); err != nil {
			t.Fatal(err)
		}
		var blogs []*blog
		for _, d := range all {
			blogs = append(blogs, open(t, db, d))
		}
		names := []string{""}
		for i := range rapid.IntRange(1, 12).Draw(rt, "comments") {
			to, name := rapid.SampledFrom(names).Draw(rt, "to"), fmt.Sprint("c", i)
			for _, b := range blogs {
				b.say(to, name)
			}
			names = append(names, name)
		}
		r := comments.Range{
			Skip:  rapid.IntRange(0, 12).Draw(rt, "skip"),
			Limit: rapid.IntRange(1, 12).Draw(rt, "limit"),
		}
		after, root := rapid.SampledFrom(names).Draw(rt, "after"), rapid.SampledFrom(names).Draw(rt, "root")
		var want []string
		for i, b := range blogs {
			r.After = b.ids[after]
			got := []string{texts(b.Page(t.Context(), post, r)), texts(b.Thread(t.Context(), post, "", r))}
			r.After = ""
			got = append(got, texts(b.Thread(t.Context(), post, b.ids[root], r)))
			if i > 0 && !slices.Equal(got, want) {
				rt.Errorf("%v: %q, and not %q", all[i], got, want)
			}
			want = got
			sound(t, b.Comments)
		}
	})
}

// TestConcurrent lets goroutines post, reply and delete on one target at the same time. No comment
// is lost, and the count is right.
func TestConcurrent(t *testing.T) {
	designs(t, func(t *testing.T, d comments.Design) {
		const workers, rounds = 8, 12
		b, err := comments.New(patterntest.Open(t), comments.Config{Design: d, PageSize: pageSize})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.EnsureIndexes(t.Context()); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() {
				for i := range rounds {
					c, err := b.Post(t.Context(), post, fmt.Sprint(w), "x")
					if err == nil && i%3 == 0 {
						_, err = b.Reply(t.Context(), post, c.ID, fmt.Sprint(w), "y")
					}
					if err == nil && i%4 == 0 {
						err = b.Delete(t.Context(), post, c.ID)
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		sound(t, b)
		got, err := b.Page(t.Context(), post, comments.Range{Limit: 1000})
		if err != nil || len(got) != workers*(rounds+rounds/3) {
			t.Errorf("%d comments, %v", len(got), err)
		}
		n, err := b.Count(t.Context(), post)
		if err != nil || n != workers*(rounds+rounds/3-rounds/4) {
			t.Errorf("%d that are not deleted, %v", n, err)
		}
	})
}

// TestOrder posts several comments within one millisecond: the lists have them in the order of
// posting.
func TestOrder(t *testing.T) {
	designs(t, func(t *testing.T, d comments.Design) {
		b := open(t, patterntest.Open(t), d)
		want := ""
		for i := range 20 {
			if _, err := b.Post(t.Context(), post, "a", fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
			want += " " + fmt.Sprint(i)
		}
		equal(t, "by time", " "+texts(b.Page(t.Context(), post, comments.Range{Limit: 50})), want)
		equal(t, "by thread", " "+texts(b.Thread(t.Context(), post, "", comments.Range{Limit: 50})), want)
	})
}

// TestCrash lets the process die at every point of a post that finds a full page, and of a reply.
func TestCrash(t *testing.T) {
	designs(t, func(t *testing.T, d comments.Design) {
		var to comments.ID
		patterntest.Crash(t, patterntest.Scenario{
			Setup: func(t *testing.T, db *mongo.Database) {
				b := open(t, db, d)
				for i := range pageSize {
					b.say("", fmt.Sprint(i))
				}
				to = b.ids["0"]
			},
			Operation: func(ctx context.Context, db *mongo.Database) error {
				c, err := comments.New(db, comments.Config{Design: d, PageSize: pageSize})
				if err != nil {
					return err
				}
				_, err = c.Reply(ctx, post, to, "a", "new")
				return err
			},
			After: func(t *testing.T, db *mongo.Database, death patterntest.Death) {
				b := open(t, db, d)
				sound(t, b.Comments)
				got := texts(b.Page(t.Context(), post, comments.Range{Limit: 10}))
				if death.Err == nil {
					equal(t, death.String(), got, "0 1 2 new")
				} else if got != "0 1 2" && got != "0 1 2 new" {
					t.Errorf("%v: %s", death, got)
				}
			},
		})
	})
}

func TestNoScans(t *testing.T) {
	designs(t, func(t *testing.T, d comments.Design) {
		server := patterntest.Start(t)
		ids := thread(t, server.Database(), d).ids
		n := server.NoScans(t, func(ctx context.Context, db *mongo.Database) {
			b := open(t, db, d)
			b.ids = ids
			b.say("", "g")
			b.say("g", "h")
			for _, r := range []comments.Range{{Limit: 3}, {Skip: 2, Limit: 2}, {After: ids["b"], Limit: 2}} {
				texts(b.Page(ctx, post, r))
				texts(b.Thread(ctx, post, "", r))
				texts(b.Thread(ctx, post, ids["a"], r))
			}
			_, err := b.Count(ctx, post)
			if err := errors.Join(err, b.Edit(ctx, post, ids["b"], "x"), b.Delete(ctx, post, ids["b"])); err != nil {
				t.Error(err)
			}
		})
		if n < 12 {
			t.Errorf("%d commands were explained", n)
		}
	})
}

// id returns an ID with the time zero.
func id(name string) string { return strings.Repeat("0", 24-len(name)) + name }

func TestViolations(t *testing.T) {
	t.Parallel()
	names := strings.NewReplacer("a", id("a"), "b", id("b"), "c", id("c"))
	one := func(id, parent, path string) bson.D {
		return bson.D{
			{"_id", names.Replace(id)},
			{"parent", names.Replace(parent)},
			{"path", names.Replace(path)},
			{"text", "x"},
		}
	}
	posted := func(c bson.D) bson.D { return append(c, bson.E{"posted", time.UnixMilli(1)}) }
	on := bson.D{{"kind", "posts"}, {"id", 1}}
	page := func(number, count int, list ...any) bson.D {
		return bson.D{{"target", on}, {"page", number}, {"count", count}, {"comments", bson.A(list)}}
	}
	discussion := func(count int, list ...any) bson.D {
		return bson.D{{"_id", on}, {"count", count}, {"comments", bson.A(list)}}
	}
	document := func(c bson.D) bson.D { return append(c, bson.E{"target", on}) }
	for name, c := range map[string]struct {
		design comments.Design
		stored []any
		rule   string
	}{
		"no parent": {comments.Documents, []any{document(one("a", "b", "b/a"))}, comments.RuleParent},
		"not an ID": {comments.Documents, []any{document(one("x", "", "x"))}, comments.RuleTime},
		"later":     {comments.Documents, []any{document(posted(one("a", "", "a")))}, comments.RuleTime},
		"a wrong path": {
			comments.Documents,
			[]any{document(one("a", "", "a")), document(one("b", "a", "b"))},
			comments.RulePath,
		},
		"twice":         {comments.Embedded, []any{discussion(2, one("a", "", "a"), one("a", "", "a"))}, comments.RuleOnce},
		"a wrong count": {comments.Embedded, []any{discussion(2, one("a", "", "a"))}, comments.RuleCount},
		"too many": {
			comments.Embedded,
			[]any{discussion(3, one("a", "", "a"), one("b", "", "b"), one("c", "", "c"))},
			comments.RuleFull,
		},
		"a page's count": {comments.Pages, []any{page(1, 2, one("a", "", "a"))}, comments.RuleCount},
		"too large a page": {
			comments.Pages,
			[]any{page(1, 3, one("a", "", "a"), one("b", "", "b"), one("c", "", "c"))},
			comments.RuleFull,
		},
		"a gap": {
			comments.Pages,
			[]any{page(1, 2, one("a", "", "a"), one("b", "", "b")), page(3, 1, one("c", "", "c"))},
			comments.RulePages,
		},
		"no first page": {comments.Pages, []any{page(2, 1, one("a", "", "a"))}, comments.RulePages},
		"half a page": {
			comments.Pages,
			[]any{page(1, 1, one("a", "", "a")), page(2, 1, one("b", "", "b"))},
			comments.RulePages,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := patterntest.Open(t)
			s, err := comments.New(db, comments.Config{Design: c.design, PageSize: 2, Limit: 2, Collection: "c"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.Collection("c").InsertMany(t.Context(), c.stored); err != nil {
				t.Fatal(err)
			}
			violations, err := s.Check(t.Context())
			if err != nil || len(violations) != 1 || violations[0].Rule != c.rule {
				t.Errorf("%v, %v", violations, err)
			}
		})
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	for _, cfg := range []comments.Config{
		{Design: 3},
		{Design: -1},
		{MaxText: -1},
		{Limit: -1},
		{Design: comments.Embedded, Limit: 10_000},
		{Design: comments.Pages, PageSize: 5000},
	} {
		if _, err := comments.New(db, cfg); err == nil {
			t.Errorf("%+v was taken", cfg)
		}
	}
	for _, d := range all {
		c, err := comments.New(db, comments.Config{Design: d})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Shard(t.Context()); !errors.Is(err, patterns.ErrNotSharded) {
			t.Errorf("shard: %v", err)
		}
	}
}
