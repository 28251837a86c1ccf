package sheaf_test

import (
	"context"
	"fmt"
	"net"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf"
)

func Example() {
	db, err := sheaf.Open(sheaf.Memory, nil) // use a directory to keep the data
	if err != nil {
		panic(err)
	}
	defer db.Close()

	ctx := context.Background()
	people := db.Client().Database("app").Collection("people")
	if _, err := people.InsertMany(ctx, []any{
		bson.M{"name": "Ada", "born": 1815}, bson.M{"name": "Grace", "born": 1906},
	}); err != nil {
		panic(err)
	}
	var person struct{ Name string }
	err = people.FindOne(ctx, bson.M{"born": bson.M{"$lt": 1900}},
		options.FindOne().SetSort(bson.M{"born": 1})).Decode(&person)
	fmt.Println(person.Name, err)
	// Output: Ada <nil>
}

func ExampleDB_Serve() {
	db, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		panic(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	served := make(chan error)
	go func() { served <- db.Serve(context.Background(), listener) }()

	// Other programs can connect to listener.Addr() until the database is closed.
	fmt.Println(db.Close())
	fmt.Println(<-served)
	// Output:
	// <nil>
	// server closed
}
