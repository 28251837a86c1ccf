package scenarios

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/catalog"
	"github.com/sheafdb/sheaf/sim/scenario"
)

const catalogDocuments = `

  products: {_id: "product-7", type: "Album", title: "Album 7", description: "…", pricing: {list: 1500, retail: 1200, savings: 300, pct_savings: 20},
             details: {artist: "artist-7", genre: ["genre-7", "genre-8"], year: 1957}, rev: 1, schema: 0, …}`

func catalogScenarios() []*scenario.Definition {
	params := []scenario.Param{
		whole("numberOfProducts", "how many products there are", 2000, 1, 1_000_000),
		whole("numberOfGenres", "how many genres there are; each product has two", 20, 2, 1000),
	}
	return []*scenario.Definition{{
		Name: "catalog-search", Group: "catalog", Users: 500,
		Title: "Search products of a genre, with counts by facets",
		Doc: `A user searches the products of a genre: the first twenty, the total number, and the numbers by other genre and by price. The total number must be
right.` + catalogDocuments,
		Params: params,
		New:    func(env scenario.Env) (scenario.Scenario, error) { return newShelf(env, true) },
	}, {
		Name: "catalog-lookup", Group: "catalog", Users: 1000, Title: "Look a product up by its number; now and then its price changes",
		Doc: `A user reads a product by its _id. One user of twenty also changes its price. The savings of a product must agree with its prices.` +
			catalogDocuments,
		Params: params,
		New:    func(env scenario.Env) (scenario.Scenario, error) { return newShelf(env, false) },
	}}
}

// album holds the details of the scenarios' products.
type album struct {
	Artist string   `bson:"artist"`
	Genre  []string `bson:"genre"`
	Year   int      `bson:"year"`
}

// Type implements catalog.Details.
func (album) Type() string { return "Album" }

// Validate implements catalog.Details.
func (a album) Validate() error {
	if a.Artist == "" {
		return errors.New("an album has an artist")
	}
	return nil
}

// shelf implements the scenarios of package catalog.
type shelf struct {
	still
	catalog          *catalog.Catalog
	env              scenario.Env
	products, genres int
	search           bool
}

func newShelf(env scenario.Env, search bool) (scenario.Scenario, error) {
	s := &shelf{
		env: env, products: env.Params.Int("numberOfProducts"),
		genres: env.Params.Int("numberOfGenres"), search: search,
	}
	var err error
	s.catalog, err = catalog.New(env.DB, catalog.Config{
		Env: env.Patterns, Types: []catalog.Type{catalog.TypeOf[album]("details.year",
			"details.genre", "pricing.retail")},
	})
	return s, err
}

func genreName(i int) string { return fmt.Sprintf("genre-%d", i) }

// Setup implements scenario.Scenario.
func (s *shelf) Setup(ctx context.Context) error {
	if err := s.catalog.EnsureIndexes(ctx); err != nil {
		return err
	}
	random := s.env.Rand()
	products := make([]catalog.Product[album], s.products)
	for i := range products {
		list := int64(1000 + random.IntN(4000))
		products[i] = catalog.Product[album]{
			SKU: productName(i), Title: fmt.Sprintf("Album %d", i), Description: letters(random, 100),
			Pricing: catalog.Pricing{List: list, Retail: list - int64(random.IntN(500))},
			Details: album{
				Artist: fmt.Sprintf("artist-%d", i%100),
				Genre:  []string{genreName(i % s.genres), genreName((i + 1) % s.genres)}, Year: 1950 + i%70,
			},
		}
	}
	refused, err := catalog.Import(ctx, s.catalog, products)
	if err == nil && len(refused) > 0 {
		err = fmt.Errorf("%d products were refused", len(refused))
	}
	return err
}

// of returns how many products have a genre. Each product has the genre of its own number, and the
// next genre.
func (s *shelf) of(genre int) (n int64) {
	for _, first := range []int{genre, (genre - 1 + s.genres) % s.genres} {
		if first < s.products {
			n += int64((s.products-first-1)/s.genres + 1)
		}
	}
	return n
}

// Run implements scenario.Scenario.
func (s *shelf) Run(ctx context.Context, u *scenario.User) error {
	if !s.search {
		return s.look(ctx, u)
	}
	genre := u.Rand.IntN(s.genres)
	page, err := catalog.Search[album](ctx, s.catalog,
		catalog.Query{Where: bson.D{{"details.genre", genreName(genre)}}, Limit: 20},
		catalog.Facet{Path: "details.genre"},
		catalog.Facet{Path: "pricing.retail", Bounds: []any{0, 1000, 2000, 3000, 4000, 5000}})
	if err != nil {
		return err
	}
	if want := s.of(genre); page.Total != want || int64(len(page.Products)) != min(20, want) {
		return fmt.Errorf("found %d products and showed %d, and there are %d", page.Total, len(page.Products), want)
	}
	u.Count("found", page.Total)
	return nil
}

// look reads a product, and sometimes changes its price.
func (s *shelf) look(ctx context.Context, u *scenario.User) error {
	sku := productName(u.Rand.IntN(s.products))
	var p *catalog.Product[album]
	err := u.Time("get", func() (err error) {
		p, err = catalog.Get[album](ctx, s.catalog, sku)
		return err
	})
	if err != nil {
		return err
	}
	if p.Pricing.Savings != p.Pricing.List-p.Pricing.Retail {
		return fmt.Errorf("%s has wrong savings", sku)
	}
	if u.Rand.IntN(20) > 0 {
		return nil
	}
	list := int64(1000 + u.Rand.IntN(4000))
	return u.Time("price", func() error { return s.catalog.SetPrice(ctx, sku, list, list-int64(u.Rand.IntN(500))) })
}

// Check implements scenario.Scenario.
func (s *shelf) Check(ctx context.Context, _ scenario.Tally) ([]patterns.Violation, error) {
	out, err := s.catalog.Check(ctx)
	if err != nil {
		return nil, err
	}
	n, err := countOf(ctx, s.env.DB.Collection(catalog.DefaultCollection), bson.D{})
	return append(out, counted("all products are there", catalog.DefaultCollection, n, int64(s.products), 0)...), err
}
