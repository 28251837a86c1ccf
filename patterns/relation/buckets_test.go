package relation_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns/patterntest"
	"github.com/sheafdb/sheaf/patterns/relation"
)

func newBuckets(t testing.TB, db *mongo.Database, size int) *relation.Bucketed {
	t.Helper()
	b, err := relation.NewBuckets(db, relation.BucketConfig{Size: size})
	wantErr(t, err, nil)
	return b
}

// TestBuckets is worked example W118 of the book: 51 comments are on pages of 50 and 1.
func TestBuckets(t *testing.T) {
	t.Parallel()
	b, ctx := newBuckets(t, patterntest.Open(t), 0), t.Context()
	wantErr(t, b.EnsureIndexes(ctx), nil)
	for i := range 51 {
		page, err := b.Add(ctx, "post", bson.D{{"n", i}})
		wantErr(t, err, nil)
		want(t, page, 1+i/50)
	}
	for page, n := range map[int64]int{1: 50, 2: 1} {
		var items []struct{ N int }
		wantErr(t, b.Page(ctx, "post", page, &items), nil)
		want(t, len(items), n)
	}
	wantErr(t, b.Page(ctx, "post", 3, &[]bson.D{}), relation.ErrNotFound)
	for owner, n := range map[string]int64{"post": 51, "other": 0} {
		got, err := b.Count(ctx, owner)
		wantErr(t, err, nil)
		want(t, got, n)
	}
	mustHold(t, b)
}

// TestBucketsTogether lets goroutines add items at the same time to pages of three items. No item
// is lost.
func TestBucketsTogether(t *testing.T) {
	t.Parallel()
	b, ctx := newBuckets(t, patterntest.Open(t), 3), t.Context()
	var wg sync.WaitGroup
	for w := range 6 {
		wg.Go(func() {
			for i := range 20 {
				if _, err := b.Add(ctx, i%2, w); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	mustHold(t, b)
	n, err := b.Count(ctx, 1)
	wantErr(t, err, nil)
	want(t, n, 60)
}

func TestBucketsCrash(t *testing.T) {
	t.Parallel()
	points := patterntest.Crash(t, patterntest.Scenario{
		Setup: func(t *testing.T, db *mongo.Database) {
			_, err := newBuckets(t, db, 1).Add(t.Context(), 1, "a")
			wantErr(t, err, nil)
		},
		Operation: func(ctx context.Context, db *mongo.Database) error {
			_, err := newBuckets(t, db, 1).Add(ctx, 1, "b")
			return err
		},
		After: func(t *testing.T, db *mongo.Database, death patterntest.Death) {
			b := newBuckets(t, db, 1)
			mustHold(t, b)
			n, err := b.Count(t.Context(), 1)
			if err != nil || n > 2 || death.Survived && (n != 2 || death.Err != nil) {
				t.Error(n, err, death.Err)
			}
		},
	})
	want(t, points, 4)
}

func TestBucketsBroken(t *testing.T) {
	t.Parallel()
	bucket := func(page, count, items int) any {
		return bson.D{
			{"_id", bson.D{{"owner", 1}, {"page", page}}},
			{"owner", 1},
			{"page", page},
			{"count", count},
			{"items", make([]int, items)},
		}
	}
	for name, c := range map[string]struct {
		docs []any
		rule string
	}{
		"count":     {[]any{bucket(1, 1, 2)}, relation.RuleCount},
		"too many":  {[]any{bucket(1, 3, 3)}, relation.RuleCount},
		"empty":     {[]any{bucket(1, 0, 0)}, relation.RuleCount},
		"no first":  {[]any{bucket(2, 1, 1)}, relation.RulePages},
		"gap":       {[]any{bucket(1, 2, 2), bucket(3, 1, 1)}, relation.RulePages},
		"not full":  {[]any{bucket(1, 1, 1), bucket(2, 1, 1)}, relation.RulePages},
		"all right": {[]any{bucket(1, 2, 2), bucket(2, 1, 1)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := patterntest.Open(t)
			insert(t, db, "buckets", c.docs...)
			violations, err := newBuckets(t, db, 2).Check(t.Context())
			var rules []string
			for _, v := range violations {
				rules = append(rules, v.Rule)
			}
			if err != nil || c.rule == "" && len(rules) > 0 || c.rule != "" && !slices.Equal(rules, []string{c.rule}) {
				t.Errorf("%v %v", violations, err)
			}
		})
	}
}
