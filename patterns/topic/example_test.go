package topic_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/patterns/topic"
)

// Quote is the price of a share.
type Quote struct {
	Ticker string
	Price  float64
}

// ticker returns the topics of a stock exchange.
func ticker() (topics *topic.Topics, end func()) {
	db, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	topics, err = topic.New(db.Client().Database("finance"), topic.Config{Name: "ticker", Size: 100_000})
	if err != nil {
		log.Fatal(err)
	}
	if err := topics.EnsureIndexes(context.Background()); err != nil {
		log.Fatal(err)
	}
	return topics, func() { _ = db.Close() }
}

// A stock ticker: each subscriber receives the prices that match its interest.
func Example() {
	ctx := context.Background()
	store, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	db := store.Client().Database("finance")

	topics, err := topic.New(db, topic.Config{Name: "ticker", Size: 100_000})
	if err != nil {
		log.Fatal(err)
	}
	if err := topics.EnsureIndexes(ctx); err != nil {
		log.Fatal(err)
	}
	all, err := topics.Subscribe(ctx, topic.Interest{Topics: []string{"shares.*"}})
	if err != nil {
		log.Fatal(err)
	}
	defer all.Close(ctx)
	dear, err := topics.Subscribe(ctx, topic.Interest{Filter: bson.D{{"data.price", bson.D{{"$gt", 100}}}}})
	if err != nil {
		log.Fatal(err)
	}
	defer dear.Close(ctx)

	for _, q := range []Quote{{"PIP", 12.5}, {"POP", 120}, {"PIP", 101}} {
		if err := topics.Publish(ctx, "shares."+q.Ticker, q); err != nil {
			log.Fatal(err)
		}
	}
	for m, err := range all.All(ctx) {
		var q Quote
		if err != nil {
			log.Fatal(err)
		}
		if err := m.Decode(&q); err != nil {
			log.Fatal(err)
		}
		fmt.Println(m.Topic, q.Price)
		if q.Price == 101 {
			break
		}
	}
	m, err := dear.Next(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("dear:", m.Topic)
	// Output:
	// shares.PIP 12.5
	// shares.POP 120
	// shares.PIP 101
	// dear: shares.POP
}

// A durable subscriber continues where it stopped, even in another process.
func ExampleTopics_Consume() {
	topics, end := ticker()
	defer end()
	for n := 1; n <= 3; n++ {
		if err := topics.Publish(context.Background(), "orders", n); err != nil {
			log.Fatal(err)
		}
	}
	in := topic.Interest{Topics: []string{"orders"}, From: topic.Beginning()}
	for range 2 { // the process is started twice
		ctx, stop := context.WithCancel(context.Background())
		err := topics.Consume(ctx, "billing", in, func(_ context.Context, m *topic.Message) error {
			fmt.Println("bill", m.Data.AsInt64())
			if m.Data.AsInt64() >= 2 {
				stop()
			}
			return nil
		})
		if !errors.Is(err, context.Canceled) {
			log.Fatal(err)
		}
		lag, err := topics.Lag(context.Background(), "billing")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(lag.Messages, "behind")
	}
	// Output:
	// bill 1
	// bill 2
	// 1 behind
	// bill 3
	// 0 behind
}
