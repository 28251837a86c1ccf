package i18n_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns/i18n"
	"github.com/sheafdb/sheaf/patterns/patterntest"
)

func newTexts(t testing.TB, db *mongo.Database) *i18n.Texts {
	t.Helper()
	texts, err := i18n.New(db, i18n.Config{Copies: []i18n.Copy{{Collection: "products", Array: "categories"}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := texts.EnsureIndexes(context.Background()); err != nil {
		t.Fatal(err)
	}
	return texts
}

// products inserts products without categories.
func products(t testing.TB, db *mongo.Database, n int) {
	t.Helper()
	for id := range n {
		doc := bson.D{{"_id", id}, {"cost", 100}}
		if _, err := db.Collection("products").InsertOne(context.Background(), doc); err != nil {
			t.Fatal(err)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustHold(t testing.TB, texts *i18n.Texts) {
	t.Helper()
	violations, err := texts.Check(context.Background())
	if err != nil || len(violations) > 0 {
		t.Fatalf("%v %v", violations, err)
	}
}

// copies returns the names of a category in a product.
func copies(t testing.TB, db *mongo.Database, product, category int) i18n.Names {
	t.Helper()
	var doc struct{ Categories []i18n.Text }
	must(t, db.Collection("products").FindOne(context.Background(), bson.D{{"_id", product}}).Decode(&doc))
	for _, c := range doc.Categories {
		if c.ID == int32(category) {
			return c.Names
		}
	}
	return nil
}

// TestW051 adds a translation to a category and to all products, and removes it again (W052).
func TestW051(t *testing.T) {
	t.Parallel()
	db, ctx := patterntest.Open(t), t.Context()
	texts := newTexts(t, db)
	products(t, db, 3)
	must(t, texts.Set(ctx, 1, "en-us", "car"))
	must(t, texts.Set(ctx, 2, "en-us", "wheel"))
	for product := range 3 {
		must(t, texts.Attach(ctx, 0, product, 2))
		must(t, texts.Attach(ctx, 0, product, 1))
		must(t, texts.Attach(ctx, 0, product, 1)) // the second Attach has no effect
	}
	must(t, texts.Set(ctx, 1, "de-DE", "auto"))
	for product := range 3 {
		if got := copies(t, db, product, 1); !maps.Equal(got, i18n.Names{"en-us": "car", "de-de": "auto"}) {
			t.Errorf("product %d has %v", product, got)
		}
	}
	mustHold(t, texts)
	must(t, texts.Unset(ctx, 1, "de-de"))
	if got := copies(t, db, 2, 1); !maps.Equal(got, i18n.Names{"en-us": "car"}) {
		t.Errorf("the product has %v", got)
	}
	if got, err := texts.Get(ctx, 1); err != nil || !maps.Equal(got.Names, i18n.Names{"en-us": "car"}) {
		t.Errorf("%v %v", got, err)
	}
	mustHold(t, texts)
}

func TestFallback(t *testing.T) {
	t.Parallel()
	names := i18n.Names{"en": "car", "de": "Auto", "de-at": "Wagerl"}
	for _, tt := range []struct {
		want    string
		locales []string
	}{
		{"Wagerl", []string{"de-AT"}},
		{"Auto", []string{"de-de-1996"}},
		{"car", []string{"fr", "en-gb"}},
		{"", []string{"fr"}},
		{"", []string{""}},
	} {
		if got, ok := names.In(tt.locales[0], tt.locales[1:]...); got != tt.want || ok != (tt.want != "") {
			t.Errorf("%v: %q %v", tt.locales, got, ok)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	db, ctx := patterntest.Open(t), t.Context()
	texts := newTexts(t, db)
	for _, locale := range []string{"", "a.b", "$a", "a b", "abcdefghijklmnopqrstuvwxyzabcdefghij"} {
		if err := texts.Set(ctx, 1, locale, "x"); !errors.Is(err, i18n.ErrLocale) {
			t.Errorf("%q: %v", locale, err)
		}
	}
	if err := texts.Unset(ctx, 9, "de"); !errors.Is(err, i18n.ErrNotFound) {
		t.Error(err)
	}
	if err := texts.Attach(ctx, 0, 1, 9); !errors.Is(err, i18n.ErrNotFound) {
		t.Error(err)
	}
	full := bson.D{}
	for i := range i18n.MaxLocales {
		full = append(full, bson.E{fmt.Sprintf("x-%d", i), "x"})
	}
	_, err := db.Collection("categories").InsertOne(ctx, bson.D{{"_id", 3}, {"names", full}, {"rev", int64(1)}})
	must(t, err)
	if err := texts.Set(ctx, 3, "y", "y"); !errors.Is(err, i18n.ErrFull) {
		t.Error(err)
	}
	must(t, texts.Set(ctx, 3, "x-7", "y"))
}

func TestFillAndDrop(t *testing.T) {
	t.Parallel()
	db, ctx := patterntest.Open(t), t.Context()
	texts := newTexts(t, db)
	products(t, db, 1)
	for id, name := range []string{"car", "wheel", "?"} {
		must(t, texts.Set(ctx, id, "en", name))
		must(t, texts.Attach(ctx, 0, 0, id))
	}
	n, err := texts.Fill(ctx, "fr", func(_ context.Context, text *i18n.Text) (string, error) {
		name, _ := text.Names.In("en")
		return map[string]string{"car": "voiture", "wheel": "roue"}[name], nil
	})
	if err != nil || n != 2 {
		t.Errorf("%d texts were translated: %v", n, err)
	}
	if missing, err := texts.Missing(ctx, "fr", 10); err != nil || fmt.Sprint(missing) != "[2]" {
		t.Errorf("missing are %v: %v", missing, err)
	}
	if got := copies(t, db, 0, 1)["fr"]; got != "roue" {
		t.Errorf("the copy has %q", got)
	}
	if n, err := texts.Drop(ctx, "fr"); err != nil || n != 2 {
		t.Errorf("%d texts had it: %v", n, err)
	}
	if missing, err := texts.Missing(ctx, "fr", 0); err != nil || len(missing) != 3 {
		t.Errorf("missing are %v: %v", missing, err)
	}
	mustHold(t, texts)
}

// TestTogether lets translators, editors and Repair work at the same time. The copies are right at
// the end.
func TestTogether(t *testing.T) {
	t.Parallel()
	const workers, rounds, categories, goods = 6, 25, 2, 4
	db := patterntest.Open(t)
	texts := newTexts(t, db)
	products(t, db, goods)
	for id := range categories {
		must(t, texts.Set(t.Context(), id, "en", "name"))
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 1))
			for range rounds {
				id, locale := rng.IntN(categories), []string{"de", "fr"}[rng.IntN(2)]
				var err error
				switch rng.IntN(4) {
				case 0:
					err = texts.Unset(t.Context(), id, locale)
				case 1:
					err = texts.Attach(t.Context(), 0, rng.IntN(goods), id)
				case 2:
					_, err = texts.Repair(t.Context())
				default:
					err = texts.Set(t.Context(), id, locale, fmt.Sprint(rng.IntN(100)))
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	mustHold(t, texts)
}

// TestCrash lets the process die at every point of a change, and of adding a copy. Repair completes
// the change.
func TestCrash(t *testing.T) {
	t.Parallel()
	setup := func(t *testing.T, db *mongo.Database) {
		texts := newTexts(t, db)
		products(t, db, 2)
		must(t, texts.Set(t.Context(), 1, "en", "car"))
		must(t, texts.Attach(t.Context(), 0, 0, 1))
	}
	open := func(db *mongo.Database) (*i18n.Texts, error) {
		return i18n.New(db, i18n.Config{Copies: []i18n.Copy{{Collection: "products", Array: "categories"}}})
	}
	for name, op := range map[string]struct {
		do     func(context.Context, *i18n.Texts) error
		points int
	}{
		"set":    {func(ctx context.Context, texts *i18n.Texts) error { return texts.Set(ctx, 1, "de", "Auto") }, 6},
		"unset":  {func(ctx context.Context, texts *i18n.Texts) error { return texts.Unset(ctx, 1, "en") }, 6},
		"attach": {func(ctx context.Context, texts *i18n.Texts) error { return texts.Attach(ctx, 0, 1, 1) }, 6},
		"fill": {func(ctx context.Context, texts *i18n.Texts) error {
			_, err := texts.Fill(ctx, "de", func(context.Context, *i18n.Text) (string, error) { return "Auto", nil })
			return err
		}, 10},
		"drop": {func(ctx context.Context, texts *i18n.Texts) error { _, err := texts.Drop(ctx, "en"); return err }, 8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			points := patterntest.Crash(t, patterntest.Scenario{
				Setup: setup,
				Operation: func(ctx context.Context, db *mongo.Database) error {
					texts, err := open(db)
					if err != nil {
						return err
					}
					return op.do(ctx, texts)
				},
				After: func(t *testing.T, db *mongo.Database, _ patterntest.Death) {
					texts := newTexts(t, db)
					if _, err := texts.Repair(t.Context()); err != nil {
						t.Error(err)
					}
					mustHold(t, texts)
				},
			})
			if points != op.points {
				t.Errorf("%d points", points)
			}
		})
	}
}

// TestLate adds an old copy of a text, like a process that read the text before it changed, and
// then died. Repair and Attach correct the copy.
func TestLate(t *testing.T) {
	t.Parallel()
	for name, mend := range map[string]func(*i18n.Texts) error{
		"repair": func(texts *i18n.Texts) error {
			if n, err := texts.Repair(t.Context()); n != 1 || err != nil {
				t.Errorf("%d texts: %v", n, err)
			}
			n, err := texts.Repair(t.Context())
			if n != 0 {
				t.Errorf("%d texts again", n)
			}
			return err
		},
		"attach": func(texts *i18n.Texts) error { return texts.Attach(t.Context(), 0, 1, 1) },
	} {
		db := patterntest.Open(t)
		texts := newTexts(t, db)
		products(t, db, 2)
		must(t, texts.Set(t.Context(), 1, "en", "car"))
		must(t, texts.Attach(t.Context(), 0, 0, 1))
		old, err := texts.Get(t.Context(), 1)
		must(t, err)
		must(t, texts.Set(t.Context(), 1, "de", "Auto"))
		add := bson.D{{"$push", bson.D{{"categories", old}}}}
		_, err = db.Collection("products").UpdateByID(t.Context(), 1, add)
		must(t, err)
		must(t, mend(texts))
		mustHold(t, texts)
		if got := copies(t, db, 1, 1); got["de"] != "Auto" {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestBroken violates each rule, and expects Check to find the violation.
func TestBroken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ coll, change, want string }{
		{"products", `{"$set": {"categories.0.names.en": "bar"}}`, i18n.RuleSame},
		{"products", `{"$set": {"categories.0.names.de": "auto"}}`, i18n.RuleSame},
		{"products", `{"$unset": {"categories.0.names.en": 1}}`, i18n.RuleSame},
		{"products", `{"$unset": {"categories.0.names": 1}}`, i18n.RuleSame},
		{"categories", `{"$set": {"names.de": "auto"}}`, i18n.RuleSame},
		{"products", `{"$set": {"categories.0._id": 7}}`, i18n.RuleExists},
		{"categories", "", i18n.RuleExists},
		{"categories", `{"$set": {"pending": true}}`, i18n.RulePending},
	} {
		db, ctx := patterntest.Open(t), t.Context()
		texts := newTexts(t, db)
		products(t, db, 1)
		must(t, texts.Set(ctx, 0, "en", "car"))
		must(t, texts.Attach(ctx, 0, 0, 0))
		mustHold(t, texts)
		var err error
		if c.change == "" {
			_, err = db.Collection(c.coll).DeleteMany(ctx, bson.D{})
		} else {
			var change bson.D
			must(t, bson.UnmarshalExtJSON([]byte(c.change), false, &change))
			_, err = db.Collection(c.coll).UpdateByID(ctx, 0, change)
		}
		must(t, err)
		violations, err := texts.Check(ctx)
		if err != nil || len(violations) != 1 || violations[0].Rule != c.want {
			t.Errorf("%s: %v %v", c.change, violations, err)
		}
	}
}

func TestNoScans(t *testing.T) {
	t.Parallel()
	server := patterntest.Start(t)
	products(t, server.Database(), 2)
	newTexts(t, server.Database())
	n := server.NoScans(t, func(ctx context.Context, db *mongo.Database) {
		texts := newTexts(t, db)
		must(t, texts.Set(ctx, 1, "en", "car"))
		must(t, texts.Attach(ctx, 0, 1, 1))
		must(t, texts.Unset(ctx, 1, "en"))
		if _, err := texts.Repair(ctx); err != nil {
			t.Error(err)
		}
	})
	if n < 9 {
		t.Errorf("%d commands were explained", n)
	}
}
