package failover_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/patterns/failover"
)

func shop() (*failover.Failover, func()) {
	db, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	f, err := failover.New(db.Client().Database("shop"), failover.Config{})
	if err != nil {
		log.Fatal(err)
	}
	return f, func() { _ = db.Close() }
}

// An order must not be placed twice. The program generates the _id of the order in advance, so Done
// can tell whether the order was placed.
func ExampleFailover_Write() {
	ctx := context.Background()
	store, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	db := store.Client().Database("shop")

	f, err := failover.New(db, failover.Config{})
	if err != nil {
		log.Fatal(err)
	}
	id := bson.NewObjectID()
	order := failover.Write{
		Repeat: failover.Ask,
		Do: func(ctx context.Context, db *mongo.Database) error {
			_, err := db.Collection("orders").InsertOne(ctx, bson.D{{"_id", id}, {"item", "pen"}})
			return err
		},
		Done: func(ctx context.Context, db *mongo.Database) (bool, error) {
			n, err := db.Collection("orders").CountDocuments(ctx, bson.D{{"_id", id}})
			return n > 0, err
		},
	}
	if err := f.Write(ctx, order); err != nil {
		log.Fatal(err)
	}
	f.Switch(failover.ReadOnly) // as if there were no primary
	err = f.Write(ctx, order)
	fmt.Println("refused:", errors.Is(err, failover.ErrReadOnly))
	// Output: refused: true
}

// A site shows its front page even if the deployment does not answer.
func ExampleAnswer() {
	f, end := shop()
	defer end()
	offers := func(ctx context.Context, db *mongo.Database) (int64, error) {
		return db.Collection("offers").CountDocuments(ctx, bson.D{})
	}
	for _, mode := range []failover.Mode{failover.Normal, failover.Emergency} {
		f.Switch(mode)
		answer, err := failover.Answer(context.Background(), f, "offers", offers)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(mode, answer.Value, "stale:", answer.Stale)
	}
	// Output:
	// normal 0 stale: false
	// emergency 0 stale: true
}

// Two requests of one user go to two processes. The token is in a cookie.
func ExampleFailover_Session() {
	f, end := shop()
	defer end()
	var cookie []byte
	for _, operation := range []failover.Func{
		func(ctx context.Context, db *mongo.Database) error {
			_, err := db.Collection("posts").InsertOne(ctx, bson.D{{"text", "hello"}})
			return err
		},
		func(ctx context.Context, db *mongo.Database) error {
			n, err := db.Collection("posts").CountDocuments(ctx, bson.D{})
			fmt.Println("posts:", n)
			return err
		},
	} {
		session, err := f.Session(cookie)
		if err != nil {
			log.Fatal(err)
		}
		run := f.Read
		if cookie == nil {
			run = func(ctx context.Context, op failover.Func) error { return f.Write(ctx, failover.Write{Do: op}) }
		}
		if err := run(session.Context(context.Background()), operation); err != nil {
			log.Fatal(err)
		}
		if cookie, err = session.Token(); err != nil {
			log.Fatal(err)
		}
		session.End(context.Background())
	}
	// Output: posts: 1
}
