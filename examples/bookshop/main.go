// Command bookshop sells books and films, which have different details. It searches these products,
// counts them by genre, and detects that a price has changed since a product was read. It also
// links authors and books. It demonstrates patterns/catalog and relation.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/examples/internal/demo"
	"github.com/sheafdb/sheaf/patterns/catalog"
	"github.com/sheafdb/sheaf/patterns/relation"
)

func main() { demo.Main("bookshop", run) }

func run(ctx context.Context, out io.Writer, db *mongo.Database) error {
	return errors.Join(sell(ctx, out, db), link(ctx, out, db))
}

// book and film are the details of the two types of products.
type (
	book struct {
		Genre []string `bson:"genre"`
		Pages int      `bson:"pages"`
	}
	film struct {
		Genre   []string `bson:"genre"`
		Minutes int      `bson:"minutes"`
	}
)

func (book) Type() string { return "Book" }

func (b book) Validate() error {
	if b.Pages <= 0 {
		return errors.New("a book has pages")
	}
	return nil
}

func (film) Type() string      { return "Film" }
func (f film) Validate() error { return nil }

// sell stores products, searches them, and lowers a price. Then it fails to save the product that
// it read before the price was lowered.
func sell(ctx context.Context, out io.Writer, db *mongo.Database) error {
	shop, err := catalog.New(db,
		catalog.Config{Types: []catalog.Type{
			catalog.TypeOf[book]("details.genre"),
			catalog.TypeOf[film]("details.genre"),
		}})
	if err != nil {
		return err
	}
	emma := &catalog.Product[book]{
		SKU: "b1", Title: "Emma", Pricing: catalog.Pricing{List: 1200, Retail: 900},
		Details: book{[]string{"novel", "comedy"}, 474},
	}
	err = errors.Join(shop.EnsureIndexes(ctx), catalog.Save(ctx, shop, emma),
		catalog.Save(ctx, shop, &catalog.Product[book]{
			SKU: "b2", Title: "Persuasion", Pricing: catalog.Pricing{List: 1000, Retail: 950},
			Details: book{[]string{"novel"}, 249},
		}),
		catalog.Save(ctx, shop, &catalog.Product[film]{
			SKU: "f1", Title: "Emma", Pricing: catalog.Pricing{List: 1500, Retail: 1500},
			Details: film{[]string{"comedy"}, 124},
		}))
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "a book without pages is refused:",
		catalog.Save(ctx, shop, &catalog.Product[book]{SKU: "b3", Title: "Blank"}) != nil)
	page, err := catalog.Search[book](ctx, shop, catalog.Query{}, catalog.Facet{Path: "details.genre"})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, page.Total, "books by genre:", page.Counts[0])
	if err := shop.SetPrice(ctx, "b1", 1200, 600); err != nil {
		return err
	}
	fmt.Fprintln(out, "who has read Emma before may not save it:",
		errors.Is(catalog.Save(ctx, shop, emma), catalog.ErrConflict))
	now, err := catalog.Get[book](ctx, shop, "b1")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s is %d %% off\n", now.Title, now.Pricing.PctSavings)
	return demo.Check(ctx, out, "catalog", shop)
}

// link links authors and books in both directions. It loads several authors with one query.
func link(ctx context.Context, out io.Writer, db *mongo.Database) error {
	written, err := relation.New(db, relation.Config{})
	if err != nil {
		return err
	}
	_, err = db.Collection("authors").
		InsertMany(ctx, []bson.M{{"_id": "terry", "name": "Terry"}, {"_id": "neil", "name": "Neil"}})
	_, err2 := db.Collection("books").
		InsertMany(ctx, []bson.M{{"_id": "omens", "title": "Good Omens"}, {"_id": "sourcery", "title": "Sourcery"}})
	if err := errors.Join(err, err2, written.EnsureIndexes(ctx)); err != nil {
		return err
	}
	err = errors.Join(written.Link(ctx, "terry", "omens"), written.Link(ctx, "neil", "omens"),
		written.Link(ctx, "terry", "sourcery"),
		written.RemoveLeft(ctx, "neil"))
	if err != nil {
		return err
	}
	var books []struct {
		Title   string
		Authors []string
	}
	if err := written.Rights(ctx, "terry", &books); err != nil {
		return err
	}
	for _, b := range books {
		fmt.Fprintln(out, b.Title, "is by", b.Authors)
	}
	type author struct {
		ID   string `bson:"_id"`
		Name string
	}
	authors := relation.NewLoader(db.Collection("authors"), func(a author) string { return a.ID })
	found, err := authors.Many(ctx, "terry", "neil", "terry")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "one query:", found[0].Name, found[1] == nil, found[2].Name)
	return demo.Check(ctx, out, "relation", written)
}
