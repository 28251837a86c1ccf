package i18n_test

import (
	"context"
	"fmt"
	"log"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/patterns/i18n"
)

// A category gets a German name, and so does the product that shows the category.
func Example() {
	ctx := context.Background()
	store, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	db := store.Client().Database("shop")

	texts, err := i18n.New(db, i18n.Config{
		Copies: []i18n.Copy{{Collection: "products", Array: "categories"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := texts.EnsureIndexes(ctx); err != nil {
		log.Fatal(err)
	}
	if err := texts.Set(ctx, "cars", "en-us", "car"); err != nil {
		log.Fatal(err)
	}
	if _, err := db.Collection("products").InsertOne(ctx, bson.D{{"_id", 7}, {"cost", 100}}); err != nil {
		log.Fatal(err)
	}
	if err := texts.Attach(ctx, 0, 7, "cars"); err != nil {
		log.Fatal(err)
	}
	if err := texts.Set(ctx, "cars", "de-de", "Auto"); err != nil {
		log.Fatal(err)
	}
	var product struct {
		Categories []i18n.Text `bson:"categories"`
	}
	if err := db.Collection("products").FindOne(ctx, bson.D{{"_id", 7}}).Decode(&product); err != nil {
		log.Fatal(err)
	}
	name, found := product.Categories[0].Names.In("de-at", "de-de", "en-us")
	if !found {
		log.Fatal("the category has no name in these languages")
	}
	fmt.Println(name)
	// Output: Auto
}

// A shop opens in another country: all texts that lack the language are translated, in all copies.
func ExampleTexts_Fill() {
	ctx := context.Background()
	db, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	texts, err := i18n.New(db.Client().Database("shop"), i18n.Config{})
	if err != nil {
		log.Fatal(err)
	}
	for id, name := range map[string]string{"cars": "car", "bikes": "bicycle"} {
		if err := texts.Set(ctx, id, "en", name); err != nil {
			log.Fatal(err)
		}
	}
	dictionary := map[string]string{"car": "voiture"}
	n, err := texts.Fill(ctx, "fr",
		func(_ context.Context, text *i18n.Text) (string, error) { return dictionary[text.Names["en"]], nil })
	if err != nil {
		log.Fatal(err)
	}
	missing, err := texts.Missing(ctx, "fr", 10)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(n, missing)
	// Output: 1 [bikes]
}
