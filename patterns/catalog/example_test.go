package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/patterns/catalog"
)

// Book is a type of products.
type Book struct {
	Author string   `bson:"author"`
	Genre  []string `bson:"genre"`
	Year   int      `bson:"year"`
}

// Type implements catalog.Details.
func (Book) Type() string { return "Book" }

// Validate implements catalog.Details.
func (b Book) Validate() error {
	if b.Author == "" {
		return errors.New("a book has an author")
	}
	return nil
}

// Products of one type with their own details, and the counts that a shop shows beside a list: the
// number of products for each genre.
func Example() {
	ctx := context.Background()
	store, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	db := store.Client().Database("shop")

	c, err := catalog.New(db, catalog.Config{
		Types: []catalog.Type{catalog.TypeOf[Book]("details.year", "details.genre", "details.author")},
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := c.EnsureIndexes(ctx); err != nil {
		log.Fatal(err)
	}
	err = catalog.Save(ctx, c, &catalog.Product[Book]{
		SKU: "b1", Title: "Emma", Pricing: catalog.Pricing{List: 1200, Retail: 900},
		Details: Book{"Jane Austen", []string{"novel", "comedy"}, 1815},
	})
	if err != nil {
		log.Fatal(err)
	}
	err = catalog.Save(ctx, c, &catalog.Product[Book]{
		SKU: "b2", Title: "Persuasion", Pricing: catalog.Pricing{List: 1000, Retail: 950},
		Details: Book{"Jane Austen", []string{"novel"}, 1817},
	})
	if err != nil {
		log.Fatal(err)
	}
	page, err := catalog.Search[Book](ctx, c,
		catalog.Query{Where: bson.D{{"details.author", "Jane Austen"}}}, catalog.Facet{Path: "details.genre"})
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range page.Products {
		fmt.Println(p.Title, p.Details.Year, p.Pricing.PctSavings, "% off")
	}
	fmt.Println(page.Total, page.Counts[0])
	// Output:
	// Persuasion 1817 5 % off
	// Emma 1815 25 % off
	// 2 [{novel 2} {comedy 1}]
}

// Prices depend on the time and on the quantity. The rules are read once for a page or a cart.
func ExamplePrice() {
	ctx := context.Background()
	store, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	c, err := catalog.New(store.Client().Database("shop"),
		catalog.Config{Types: []catalog.Type{catalog.TypeOf[Book]("")}})
	if err != nil {
		log.Fatal(err)
	}
	may := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	err = errors.Join(c.EnsureIndexes(ctx),
		c.SetRule(ctx, catalog.Rule{Name: "spring", Type: "Book", From: may, Until: may.AddDate(0, 1, 0), Percent: 10}),
		c.SetRule(ctx, catalog.Rule{
			Name: "a box", SKU: "b1", MinQuantity: 12, From: may,
			Until: may.AddDate(1, 0, 0), Price: 700,
		}))
	if err != nil {
		log.Fatal(err)
	}
	emma := &catalog.Product[Book]{
		SKU: "b1", Title: "Emma", Pricing: catalog.Pricing{List: 1200, Retail: 900},
		Details: Book{Author: "Jane Austen"},
	}
	if err := catalog.Save(ctx, c, emma); err != nil {
		log.Fatal(err)
	}
	for _, month := range []int{0, 1} {
		rules, err := c.Rules(ctx, may.AddDate(0, month, 7))
		if err != nil {
			log.Fatal(err)
		}
		one, why := catalog.Price(rules, emma, catalog.Sale{})
		dozen, whyDozen := catalog.Price(rules, emma, catalog.Sale{Quantity: 12})
		fmt.Printf("one: %d %q, of twelve: %d %q\n", one, why, dozen, whyDozen)
	}
	// Output:
	// one: 810 "spring", of twelve: 700 "a box"
	// one: 900 "", of twelve: 700 "a box"
}

// Two people edit a product. The second one gets an error, and no change is lost. SetPrice needs no
// revision.
func ExampleSave_conflict() {
	ctx := context.Background()
	store, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	c, err := catalog.New(store.Client().Database("shop"),
		catalog.Config{Types: []catalog.Type{catalog.TypeOf[Book]("")}})
	if err != nil {
		log.Fatal(err)
	}
	emma := catalog.Product[Book]{
		SKU: "b1", Title: "Emma", Pricing: catalog.Pricing{List: 1200, Retail: 900},
		Details: Book{Author: "Jane Austen"},
	}
	if err := errors.Join(c.EnsureIndexes(ctx), catalog.Save(ctx, c, &emma)); err != nil {
		log.Fatal(err)
	}
	anna, bob := emma, emma
	anna.Description = "A comedy"
	bob.Title = "Emma. A novel"
	if err := catalog.Save(ctx, c, &anna); err != nil {
		log.Fatal(err)
	}
	err = catalog.Save(ctx, c, &bob)
	fmt.Println("Bob is late:", errors.Is(err, catalog.ErrConflict))
	if err := c.SetPrice(ctx, "b1", 1200, 600); err != nil {
		log.Fatal(err)
	}
	now, err := catalog.Get[Book](ctx, c, "b1")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(now.Title, now.Description, now.Pricing.PctSavings)
	// Output:
	// Bob is late: true
	// Emma A comedy 50
}
