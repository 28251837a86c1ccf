package moat_test

import (
	"context"
	"fmt"
	"log"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/patterns/queue/moat"
)

// A till writes its sales into a local store. The sales reach the head office when it is reachable.
func Example() {
	ctx := context.Background()
	till, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = till.Close() }()
	office, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = office.Close() }()

	m, err := moat.New(till.Client().Database("till"), office.Client().Database("shop"), moat.Config{})
	if err != nil {
		log.Fatal(err)
	}
	if err := m.EnsureIndexes(ctx); err != nil {
		log.Fatal(err)
	}
	err = m.Write(ctx,
		moat.Insert("sales", bson.D{{"_id", "sale-1"}, {"sku", "pen"}}),
		moat.Upsert("stock", "pen", bson.D{{"$inc", bson.D{{"qty", -1}}}}),
	)
	if err != nil {
		log.Fatal(err)
	}
	stats, err := m.Stats(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("kept:", stats.Waiting)

	// A program runs m.Run(ctx) in the background.
	if err := m.Replay(ctx); err != nil {
		log.Fatal(err)
	}
	var pens struct{ Qty int }
	stock := office.Client().Database("shop").Collection("stock")
	if err := stock.FindOne(ctx, bson.D{{"_id", "pen"}}).Decode(&pens); err != nil {
		log.Fatal(err)
	}
	fmt.Println("pens:", pens.Qty)
	// Output:
	// kept: 2
	// pens: -1
}
