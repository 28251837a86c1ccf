package category_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/patterns/category"
)

// This example moves a branch of a shop's tree together with its products.
func Example() {
	ctx := context.Background()
	store, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	db := store.Client().Database("shop")

	tree, err := category.New(db, category.Config{Design: category.Paths})
	if err != nil {
		log.Fatal(err)
	}
	if err := tree.EnsureIndexes(ctx); err != nil {
		log.Fatal(err)
	}
	add := func(parent bson.ObjectID, slug, name string) bson.ObjectID {
		c, err := tree.Add(ctx, parent, slug, name)
		if err != nil {
			log.Fatal(err)
		}
		return c.ID
	}
	electronics := add(category.Top, "electronics", "Electronics")
	embedded := add(electronics, "embedded", "Embedded")
	arduino := add(embedded, "arduino", "Arduino")
	diy := add(category.Top, "diy", "Do it yourself")

	if _, err := db.Collection("products").InsertOne(ctx, bson.D{{"_id", "uno"}}); err != nil {
		log.Fatal(err)
	}
	if err := tree.Assign(ctx, "uno", arduino); err != nil {
		log.Fatal(err)
	}
	if err := tree.Move(ctx, embedded, diy); err != nil {
		log.Fatal(err)
	}

	found, crumbs, err := tree.Find(ctx, "arduino")
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range crumbs {
		fmt.Print(c.Name, " > ")
	}
	fmt.Println(found.Name)
	n, err := tree.CountProducts(ctx, diy, category.AndBelow)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("products below Do it yourself:", n)
	err = tree.Move(ctx, diy, arduino)
	fmt.Println("below itself:", errors.Is(err, category.ErrCycle))
	// Output:
	// Do it yourself > Embedded > Arduino
	// products below Do it yourself: 1
	// below itself: true
}

// A menu: the categories at the top, and the children of one category, in the order of the shop.
func ExampleTree_Children() {
	ctx := context.Background()
	store, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	tree, err := category.New(store.Client().Database("shop"), category.Config{})
	if err != nil {
		log.Fatal(err)
	}
	if err := tree.EnsureIndexes(ctx); err != nil {
		log.Fatal(err)
	}
	var styles []bson.ObjectID
	for _, name := range []string{"Bop", "Ragtime", "Swing"} {
		c, err := tree.Add(ctx, category.Top, strings.ToLower(name), name)
		if err != nil {
			log.Fatal(err)
		}
		styles = append(styles, c.ID)
	}
	if err := tree.Reorder(ctx, category.Top, styles[1], styles[2], styles[0]); err != nil {
		log.Fatal(err)
	}
	if err := tree.Rename(ctx, styles[0], "bebop", "Bebop"); err != nil {
		log.Fatal(err)
	}
	menu, err := tree.Children(ctx, category.Top)
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range menu {
		fmt.Println(c.Name, c.Slug)
	}
	// Output:
	// Ragtime ragtime
	// Swing swing
	// Bebop bebop
}
