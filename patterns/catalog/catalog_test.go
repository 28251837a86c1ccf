package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/catalog"
	"github.com/sheafdb/sheaf/patterns/patterntest"
	"github.com/sheafdb/sheaf/patterns/schema"
)

type Album struct {
	Title  string     `bson:"title"`
	Artist string     `bson:"artist"`
	Genre  []string   `bson:"genre"`
	Issued *time.Time `bson:"issue_date,omitempty"`
	Tracks []string   `bson:"tracks"`
}

func (Album) Type() string { return "Audio Album" }

func (a Album) Validate() error {
	if a.Artist == "" {
		return errors.New("an album has an artist")
	}
	return nil
}

type Film struct {
	Title    string     `bson:"title"`
	Director []string   `bson:"director"`
	Actor    []string   `bson:"actor"`
	Issued   *time.Time `bson:"issue_date,omitempty"`
	Sold     int        `bson:"sold"`
}

func (Film) Type() string { return "Film" }

func (f Film) Validate() error {
	if f.Title == "" {
		return errors.New("a film has a title")
	}
	return nil
}

func config() catalog.Config {
	return catalog.Config{Types: []catalog.Type{
		catalog.TypeOf[Album]("details.issue_date", "details.genre"),
		catalog.TypeOf[Film]("details.issue_date", "details.actor"),
	}}
}

func open(t *testing.T, db *mongo.Database) *catalog.Catalog {
	t.Helper()
	c, err := catalog.New(db, config())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.EnsureIndexes(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	return c
}

func year(y int) *time.Time {
	at := time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC)
	return &at
}

func album(sku, title string, list, retail int64, y int, genre ...string) *catalog.Product[Album] {
	return &catalog.Product[Album]{
		SKU: sku, Title: title, Pricing: catalog.Pricing{List: list, Retail: retail},
		Details: Album{Title: title, Artist: "John Coltrane", Genre: genre, Issued: year(y)},
	}
}

func film(sku, title string, list, retail int64, y int, actor ...string) *catalog.Product[Film] {
	return &catalog.Product[Film]{
		SKU: sku, Title: title, Pricing: catalog.Pricing{List: list, Retail: retail},
		Details: Film{Title: title, Actor: actor, Issued: year(y)},
	}
}

func save[D catalog.Details](t *testing.T, c *catalog.Catalog, products ...*catalog.Product[D]) {
	t.Helper()
	for _, p := range products {
		if err := catalog.Save(t.Context(), c, p); err != nil {
			t.Fatal(err)
		}
	}
}

// stock stores albums and films.
func stock(t *testing.T, c *catalog.Catalog) {
	t.Helper()
	save(t, c,
		album("a1", "A Love Supreme", 1200, 1100, 1965, "Jazz", "General"),
		album("a2", "Blue Train", 1000, 700, 1957, "Jazz"),
		album("a3", "Ballads", 900, 400, 1963, "Jazz", "Ballad"))
	save(t, c,
		film("f1", "Hackers", 2000, 1000, 1995, "Jonny Lee Miller", "Angelina Jolie"),
		film("f2", "The HACKER", 1500, 1500, 2001, "Somebody"),
		film("f3", "The Matrix", 1000, 990, 1999, "Keanu Reeves"))
}

func mustBeRight(t *testing.T, c *catalog.Catalog) {
	t.Helper()
	violations, err := c.Check(t.Context())
	if err != nil || len(violations) > 0 {
		t.Errorf("check: %v, %v", violations, err)
	}
}

func skus[D catalog.Details](products []*catalog.Product[D], err error) string {
	out := ""
	for _, p := range products {
		out += p.SKU + " "
	}
	if err != nil {
		out += err.Error()
	}
	return out
}

func TestQueries(t *testing.T) {
	t.Parallel()
	c := open(t, patterntest.Open(t))
	stock(t, c)
	ctx := t.Context()
	where := func(path string, v any) catalog.Query { return catalog.Query{Where: bson.D{{path, v}}} }
	for name, got := range map[string][2]string{
		"genre":       {skus(catalog.Find[Album](ctx, c, where("details.genre", "Jazz"))), "a1 a3 a2 "},
		"genre case":  {skus(catalog.Find[Album](ctx, c, where("details.genre", "jazz"))), ""}, // W079
		"actor":       {skus(catalog.Find[Film](ctx, c, where("details.actor", "Keanu Reeves"))), "f3 "},
		"discount":    {skus(catalog.Find[catalog.Any](ctx, c, catalog.Query{MinDiscount: 25})), "a3 f1 a2 "}, // W080
		"of a type":   {skus(catalog.Find[Album](ctx, c, catalog.Query{MinDiscount: 8})), "a3 a2 "},
		"title":       {skus(catalog.Find[Film](ctx, c, catalog.Query{Title: "hacker"})), "f2 f1 "}, // W081
		"title quote": {skus(catalog.Find[Film](ctx, c, catalog.Query{Title: "h.cker"})), ""},
		"words":       {skus(catalog.Find[catalog.Any](ctx, c, catalog.Query{Text: "supreme"})), "a1 "},
		"words, type": {skus(catalog.Find[Film](ctx, c, catalog.Query{Text: "supreme matrix"})), "f3 "},
		"limit":       {skus(catalog.Find[Album](ctx, c, catalog.Query{Limit: 1})), "a1 "},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %q, want %q", name, got[0], got[1])
		}
	}
	mustBeRight(t, c)
}

// TestBook stores the products of worked example W079, as the book prints them.
func TestBook(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	c := open(t, db)
	love := &catalog.Product[Album]{
		SKU: "00e8da9b", Title: "A Love Supreme", Description: "by John Coltrane", ASIN: "B0000A118M",
		Shipping: catalog.Shipping{Weight: 6, Dimensions: &catalog.Dimensions{Width: 10, Height: 10, Depth: 1}},
		Pricing:  catalog.Pricing{List: 1200, Retail: 1100},
		Details: Album{
			Title: "A Love Supreme [Original Recording Reissued]", Artist: "John Coltrane",
			Genre: []string{"Jazz", "General"},
		},
	}
	save(t, c, love)
	save(t, c, &catalog.Product[Film]{SKU: "00e8da9d", ASIN: "B000P0J0AQ", Details: Film{Title: "The Matrix"}})
	if want := (catalog.Pricing{
		List: 1200, Retail: 1100, Savings: 100,
		PctSavings: 8,
	}); love.Pricing != want || love.Rev != 1 {
		t.Errorf("%+v", love)
	}
	raw, err := db.Collection("products").FindOne(t.Context(), bson.D{{"_id", "00e8da9d"}}).Raw()
	if err != nil || raw.Lookup("shipping").String() != "{}" || raw.Lookup("pricing").String() != "{}" {
		t.Errorf("%v, %v", raw, err)
	}
	got, err := catalog.Get[Album](t.Context(), c, "00e8da9b")
	if err != nil || fmt.Sprint(got.Details) != fmt.Sprint(love.Details) || got.Type != "Audio Album" ||
		*got.Shipping.Dimensions != *love.Shipping.Dimensions {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := catalog.Get[Film](t.Context(), c, "00e8da9b"); !errors.Is(err, catalog.ErrType) {
		t.Errorf("an album as a film: %v", err)
	}
	other, err := catalog.Get[catalog.Any](t.Context(), c, "00e8da9b")
	if err != nil || len(other.Details) == 0 {
		t.Errorf("%+v, %v", other, err)
	}
	if err := catalog.Save(t.Context(), c, other); !errors.Is(err, catalog.ErrType) {
		t.Errorf("saving what is not known: %v", err)
	}
	mustBeRight(t, c)
}

func TestSave(t *testing.T) {
	t.Parallel()
	c := open(t, patterntest.Open(t))
	ctx := t.Context()
	save(t, c, album("a1", "x", 10, 5, 2000))
	if err := catalog.Save(ctx, c, film("a1", "x", 10, 5, 2000)); !errors.Is(err, catalog.ErrExists) {
		t.Errorf("the same SKU: %v", err)
	}
	one, err := catalog.Get[Album](ctx, c, "a1")
	if err != nil {
		t.Fatal(err)
	}
	other := *one
	one.Title = "y"
	save(t, c, one)
	if err := catalog.Save(ctx, c, &other); !errors.Is(err, catalog.ErrConflict) {
		t.Errorf("a lost update: %v", err)
	}
	if err := c.SetPrice(ctx, "a1", 10, 4); err != nil {
		t.Error(err)
	}
	if err := catalog.Save(ctx, c, one); !errors.Is(err, catalog.ErrConflict) {
		t.Errorf("a lost price: %v", err)
	}
	if got, err := catalog.Get[Album](ctx, c, "a1"); err != nil || got.Title != "y" ||
		got.Pricing.PctSavings != 60 || got.Rev != 3 {
		t.Errorf("%+v, %v", got, err)
	}
	if err := c.Delete(ctx, "a1"); err != nil {
		t.Error(err)
	}
	for what, err := range map[string]error{"delete": c.Delete(ctx, "a1"), "price": c.SetPrice(ctx, "a1", 1, 1)} {
		if !errors.Is(err, catalog.ErrNotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := catalog.Get[Album](ctx, c, "a1"); !errors.Is(err, catalog.ErrNotFound) {
		t.Error(err)
	}
	if err := catalog.Save(ctx, c, album("a2", "x", 10, 11, 2000)); !errors.Is(err, catalog.ErrPrice) {
		t.Errorf("dearer than the list price: %v", err)
	}
	if err := catalog.Save(ctx, c, film("f1", "", 10, 1, 2000)); err == nil {
		t.Error("a film without a title is saved")
	}
	if err := c.SetPrice(ctx, "a1", 1, -1); !errors.Is(err, catalog.ErrPrice) {
		t.Error(err)
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	c := open(t, patterntest.Open(t))
	stock(t, c)
	page, err := catalog.Search[Album](t.Context(), c, catalog.Query{Limit: 2},
		catalog.Facet{Path: "details.genre"},
		catalog.Facet{Path: "details.genre", Limit: 1},
		catalog.Facet{Path: "pricing.retail", Bounds: []any{0, 500, 1000}})
	if err != nil {
		t.Fatal(err)
	}
	if got := skus(page.Products, nil); got != "a1 a3 " || page.Total != 3 {
		t.Errorf("%s of %d", got, page.Total)
	}
	if got, want := fmt.Sprint(page.Counts), "[[{Jazz 3} {Ballad 1} {General 1}] [{Jazz 3}] [{0 1} {500 1} {other 1}]]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	words, err := catalog.Search[catalog.Any](t.Context(), c,
		catalog.Query{Text: "hackers supreme"}, catalog.Facet{Path: "type"})
	if err != nil || words.Total != 3 || fmt.Sprint(words.Counts) != "[[{Film 2} {Audio Album 1}]]" {
		t.Errorf("%+v, %v", words, err)
	}
	none, err := catalog.Search[Film](t.Context(), c, catalog.Query{Title: "nothing"},
		catalog.Facet{Path: "details.actor"})
	if err != nil || none.Total != 0 || len(none.Products)+len(none.Counts[0]) != 0 {
		t.Errorf("%+v, %v", none, err)
	}
}

func TestZeroConfig(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	c, err := catalog.New(db, catalog.Config{Text: map[string]int{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.EnsureIndexes(t.Context()); err != nil {
		t.Fatal(err)
	}
	save(t, c, film("f1", "Hackers", 10, 5, 1995))
	if got := skus(catalog.Find[Film](t.Context(), c, catalog.Query{Title: "HACK"})); got != "f1 " {
		t.Error(got)
	}
	if _, err := catalog.Find[Film](t.Context(), c,
		catalog.Query{Text: "hackers"}); !errors.Is(err, catalog.ErrNoText) {
		t.Errorf("words without an index: %v", err)
	}
	if err := c.Shard(t.Context()); !errors.Is(err, patterns.ErrNotSharded) {
		t.Error(err)
	}
	mustBeRight(t, c)
	twice := config()
	twice.Types = append(twice.Types, twice.Types[0])
	if _, err := catalog.New(db, twice); err == nil {
		t.Error("a type is declared twice")
	}
	only, err := catalog.New(db, catalog.Config{Types: config().Types[:1]})
	if err != nil {
		t.Fatal(err)
	}
	if err := catalog.Save(t.Context(), only, film("f2", "x", 1, 1, 1)); !errors.Is(err, catalog.ErrType) {
		t.Errorf("a type that was not declared: %v", err)
	}
}

func TestPriceRules(t *testing.T) {
	t.Parallel()
	c := open(t, patterntest.Open(t))
	at := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
	hold := func(r catalog.Rule) {
		t.Helper()
		if r.From.IsZero() {
			r.From, r.Until = at, at.Add(time.Hour)
		}
		if err := c.SetRule(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	hold(catalog.Rule{Name: "summer", Type: "Film", Percent: 33})
	hold(catalog.Rule{Name: "three", MinQuantity: 3, Percent: 50})
	hold(catalog.Rule{Name: "swiss", Region: "CH", Price: 150})
	hold(catalog.Rule{Name: "dear", Price: 5000})
	hold(catalog.Rule{Name: "one", SKU: "f1", Price: 600})
	hold(catalog.Rule{Name: "one", SKU: "f2", Price: 100})
	hold(catalog.Rule{Name: "over", Percent: 99, From: at.Add(-time.Hour), Until: at})
	hold(catalog.Rule{Name: "later", Percent: 99, From: at.Add(time.Minute), Until: at.Add(time.Hour)})
	hold(catalog.Rule{Name: "gone", Percent: 99})
	if err := c.RemoveRule(t.Context(), "gone"); err != nil {
		t.Error(err)
	}
	rules, err := c.Rules(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	f1, f2, a1 := film("f1", "x", 2000, 1000, 1), film("f2", "x", 2000, 1000, 1), album("a1", "x", 2000, 1000, 1)
	save(t, c, f1, f2)
	save(t, c, a1)
	for _, test := range []struct {
		sale catalog.Sale
		want string
	}{
		{catalog.Sale{}, "670 summer, 100 one, 1000 "},
		{catalog.Sale{Quantity: 3}, "500 three, 100 one, 500 three"},
		{catalog.Sale{Region: "CH"}, "150 swiss, 100 one, 150 swiss"},
	} {
		p1, r1 := catalog.Price(rules, f1, test.sale)
		p2, r2 := catalog.Price(rules, f2, test.sale)
		p3, r3 := catalog.Price(rules, a1, test.sale)
		if got := fmt.Sprintf("%d %s, %d %s, %d %s", p1, r1, p2, r2, p3, r3); got != test.want {
			t.Errorf("%+v: %s, want %s", test.sale, got, test.want)
		}
	}
	for _, bad := range []catalog.Rule{
		{},
		{Name: "x", Percent: 5},
		{Name: "x", From: at, Until: at.Add(1)},
		{Name: "x", From: at, Until: at.Add(time.Hour), Percent: 101},
		{Name: "x", From: at, Until: at.Add(time.Hour), Percent: 1, Price: 1},
	} {
		if err := c.SetRule(t.Context(), bad); !errors.Is(err, catalog.ErrRule) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	mustBeRight(t, c)
}

func TestImport(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	c := open(t, db)
	save(t, c, album("a1", "x", 10, 5, 2000))
	save(t, c, film("f1", "old", 10, 5, 2000))
	list := []catalog.Product[Film]{
		*film("f1", "new", 10, 5, 2000), *film("f2", "new", 10, 5, 2000), *film("bad", "", 10, 5, 2000),
		*film("a1", "new", 10, 5, 2000),
	}
	refused, err := catalog.Import(t.Context(), c, list)
	if err != nil || len(refused) != 2 || refused["bad"] == nil || !errors.Is(refused["a1"], catalog.ErrExists) {
		t.Errorf("%v, %v", refused, err)
	}
	for sku, rev := range map[string]int64{"f1": 2, "f2": 1} {
		if got, err := catalog.Get[Film](t.Context(), c, sku); err != nil || got.Title != "new" || got.Rev != rev {
			t.Errorf("%+v, %v", got, err)
		}
	}
	mustBeRight(t, c)
}

// TestEvolution reads, changes, migrates and finds products that were stored by an older version of
// the schema.
func TestEvolution(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	save(t, open(t, db), film("f1", "Hackers", 10, 5, 1995), film("f2", "Hackers 2", 10, 5, 1996))
	if _, err := db.Collection("products").UpdateMany(t.Context(), bson.D{}, bson.D{
		{"$unset", bson.D{{"schema", ""}}}, {"$rename", bson.D{{"title", "name"}}},
	}); err != nil {
		t.Fatal(err)
	}
	cfg := config()
	cfg.Steps = []schema.Step{schema.Rename("name", "title")}
	c, err := catalog.New(db, cfg)
	if err != nil {
		t.Fatal(err)
	}
	mustBeRight(t, c)
	p, err := catalog.Get[Film](t.Context(), c, "f1")
	if err != nil || p.Title != "Hackers" {
		t.Errorf("%+v, %v", p, err)
	}
	if err := c.SetPrice(t.Context(), "f1", 10, 1); err != nil {
		t.Error(err)
	}
	if res, err := c.Schema().Migrate(t.Context()); err != nil || res.Migrated != 1 {
		t.Errorf("%+v, %v", res, err)
	}
	if got := skus(catalog.Find[Film](t.Context(), c, catalog.Query{Title: "hack"})); got != "f2 f1 " {
		t.Error(got)
	}
	mustBeRight(t, c)
}

// TestCheck stores documents that violate each rule, and expects Check to find them.
func TestCheck(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	c := open(t, db)
	for rule, change := range map[string]bson.D{
		catalog.RuleRoot:    {{"$unset", bson.D{{"shipping", ""}}}},
		catalog.RulePricing: {{"$set", bson.D{{"pricing.pct_savings", 9}}}},
		catalog.RuleType:    {{"$set", bson.D{{"type", "Book"}}}},
		catalog.RuleDetails: {{"$set", bson.D{{"details.title", ""}}}},
		schema.RuleVersion:  {{"$set", bson.D{{"schema", 7}}}},
	} {
		save(t, c, film("f1", "x", 1200, 1100, 2000))
		mustBeRight(t, c)
		if _, err := db.Collection("products").UpdateOne(t.Context(), bson.D{}, change); err != nil {
			t.Fatal(err)
		}
		violations, err := c.Check(t.Context())
		if err != nil || len(violations) != 1 || violations[0].Rule != rule {
			t.Errorf("%s: %v, %v", rule, violations, err)
		}
		if err := c.Delete(t.Context(), "f1"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.Collection("price_rules").
		InsertOne(t.Context(), bson.D{{"_id", "x"}, {"percent", 500}}); err != nil {
		t.Fatal(err)
	}
	if violations, err := c.Check(t.Context()); err != nil || len(violations) != 1 ||
		violations[0].Rule != catalog.RuleRule {
		t.Errorf("%v, %v", violations, err)
	}
}

func TestCrash(t *testing.T) {
	t.Parallel()
	var list []catalog.Product[Film]
	for i := range 501 { // more than one batch
		list = append(list, *film(fmt.Sprint("f", i), "imported", 10, 5, 2000))
	}
	patterntest.Crash(t, patterntest.Scenario{
		Setup: func(t *testing.T, db *mongo.Database) { save(t, open(t, db), film("f1", "Hackers", 10, 5, 1995)) },
		Operation: func(ctx context.Context, db *mongo.Database) error {
			c, err := catalog.New(db, config())
			if err != nil {
				return err
			}
			if err := catalog.Save(ctx, c, album("a1", "x", 10, 5, 2000)); err != nil {
				return err
			}
			if err := c.SetPrice(ctx, "f1", 10, 1); err != nil {
				return err
			}
			_, err = catalog.Import(ctx, c, list)
			return err
		},
		After: func(t *testing.T, db *mongo.Database, _ patterntest.Death) {
			c := open(t, db)
			mustBeRight(t, c)
			if refused, err := catalog.Import(t.Context(), c, list); err != nil || len(refused) > 0 {
				t.Errorf("%v, %v", refused, err)
			}
			n, err := db.Collection("products").CountDocuments(t.Context(), bson.D{{"title", "imported"}})
			if n != 501 || err != nil {
				t.Errorf("%d products, %v", n, err)
			}
			mustBeRight(t, c)
		},
	})
}

// TestTogether lets goroutines save one product and set its price at the same time. No change is
// lost.
func TestTogether(t *testing.T) {
	t.Parallel()
	const workers, rounds = 4, 10
	c := open(t, patterntest.Open(t))
	save(t, c, film("f1", "x", 1000, 1000, 2000))
	sell := func() error {
		for {
			p, err := catalog.Get[Film](t.Context(), c, "f1")
			if err != nil {
				return err
			}
			p.Details.Sold++
			if err := catalog.Save(t.Context(), c, p); !errors.Is(err, catalog.ErrConflict) {
				return err
			}
		}
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range rounds {
				if err := sell(); err != nil {
					t.Error(err)
				}
				if err := c.SetPrice(t.Context(), "f1", 1000, int64(w*rounds+i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	p, err := catalog.Get[Film](t.Context(), c, "f1")
	if err != nil || p.Details.Sold != workers*rounds || p.Rev != 1+2*workers*rounds {
		t.Errorf("%+v, %v", p, err)
	}
	mustBeRight(t, c)
}

func TestNoScans(t *testing.T) {
	t.Parallel()
	server := patterntest.Start(t)
	stock(t, open(t, server.Database()))
	n := server.NoScans(t, func(ctx context.Context, db *mongo.Database) {
		c, err := catalog.New(db, config())
		if err != nil {
			t.Fatal(err)
		}
		var all []error
		for _, q := range []catalog.Query{
			{},
			{Where: bson.D{{"details.actor", "Keanu Reeves"}}},
			{Title: "hack"},
			{MinDiscount: 25},
			{Text: "hackers"},
		} {
			_, err := catalog.Find[Film](ctx, c, q)
			_, err2 := catalog.Search[Film](ctx, c, q, catalog.Facet{Path: "details.actor"})
			all = append(all, err, err2)
		}
		_, err = catalog.Find[catalog.Any](ctx, c, catalog.Query{MinDiscount: 25})
		_, err2 := catalog.Find[Album](ctx, c, catalog.Query{Where: bson.D{{"details.genre", "Jazz"}}})
		p, err3 := catalog.Get[Film](ctx, c, "f1")
		_, err4 := c.Rules(ctx, *year(2026))
		_, err5 := catalog.Import(ctx, c, []catalog.Product[Film]{*film("f9", "x", 1, 1, 1)})
		all = append(all, err, err2, err3, err4, err5, catalog.Save(ctx, c, p),
			c.SetPrice(ctx, "f1", 1, 1), c.Delete(ctx, "f1"))
		all = append(all, c.SetRule(ctx,
			catalog.Rule{Name: "x", Percent: 1, Until: *year(2026)}), c.RemoveRule(ctx, "x"))
		if err := errors.Join(all...); err != nil {
			t.Error(err)
		}
	})
	if n < 18 {
		t.Errorf("%d commands explained", n)
	}
}
