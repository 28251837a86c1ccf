package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"log"

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

// Products of one type with their own details, and what a shop shows beside a list: how many of it have which genre.
func Example() {
	ctx := context.Background()
	store, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	c, err := catalog.New(store.Client().Database("shop"), catalog.Config{
		Types: []catalog.Type{catalog.TypeOf[Book]("details.year", "details.genre", "details.author")},
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := c.EnsureIndexes(ctx); err != nil {
		log.Fatal(err)
	}
	for _, p := range []catalog.Product[Book]{
		{SKU: "b1", Title: "Emma", Pricing: catalog.Pricing{List: 1200, Retail: 900}, Details: Book{"Jane Austen", []string{"novel", "comedy"}, 1815}},
		{SKU: "b2", Title: "Persuasion", Pricing: catalog.Pricing{List: 1000, Retail: 950}, Details: Book{"Jane Austen", []string{"novel"}, 1817}},
	} {
		if err := catalog.Save(ctx, c, &p); err != nil {
			log.Fatal(err)
		}
	}
	page, err := catalog.Search[Book](ctx, c,
		catalog.Query{Where: bson.D{{Key: "details.author", Value: "Jane Austen"}}}, catalog.Facet{Path: "details.genre"})
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
