// Hello is the smallest program that embeds Sheaf. Its size is the minimum for an embedding
// program.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "hello:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	db, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	words := db.Client().Database("app").Collection("words")
	if _, err := words.InsertOne(ctx, bson.D{{"text", "hello, world"}}); err != nil {
		return fmt.Errorf("insert: %w", err)
	}
	var doc struct{ Text string }
	if err := words.FindOne(ctx, bson.D{}).Decode(&doc); err != nil {
		return fmt.Errorf("find: %w", err)
	}
	fmt.Println(doc.Text)
	return nil
}
