package js_test

import (
	"context"
	"fmt"
	"log"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf"
	_ "github.com/sheafdb/sheaf/js"
)

func Example() {
	db, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			log.Print(err)
		}
	}()
	ctx := context.Background()
	people := db.Client().Database("app").Collection("people")
	if _, err := people.InsertOne(ctx, bson.D{{"name", "Ada"}}); err != nil {
		log.Fatal(err)
	}
	var found struct{ Name string }
	filter := bson.D{{"$where", "this.name.length == 3"}}
	if err := people.FindOne(ctx, filter).Decode(&found); err != nil {
		log.Fatal(err)
	}
	fmt.Println(found.Name)
	// Output: Ada
}
