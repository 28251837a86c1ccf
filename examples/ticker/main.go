// Command ticker publishes prices of shares. One subscriber receives all prices, another one only
// high prices. The bookkeeping is stopped and started again, and misses no price. The program
// demonstrates patterns/topic.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/examples/internal/demo"
	"github.com/sheafdb/sheaf/patterns/topic"
)

func main() { demo.Main("ticker", run) }

type quote struct{ Price float64 }

func run(ctx context.Context, out io.Writer, db *mongo.Database) error {
	topics, err := topic.New(db, topic.Config{Name: "ticker", Size: 1 << 20})
	if err != nil {
		return err
	}
	if err := topics.EnsureIndexes(ctx); err != nil {
		return err
	}
	if err := listen(ctx, out, topics); err != nil {
		return err
	}
	for range 2 { // the second run continues where the first one stopped
		if err := bookkeeping(ctx, out, topics); err != nil {
			return err
		}
	}
	return demo.Check(ctx, out, "topic", topics)
}

// listen publishes prices to two subscribers. One of them receives only prices above 100.
func listen(ctx context.Context, out io.Writer, topics *topic.Topics) error {
	all, err := topics.Subscribe(ctx, topic.Interest{Topics: []string{"shares.*"}})
	if err != nil {
		return err
	}
	defer all.Close(ctx)
	dear, err := topics.Subscribe(ctx, topic.Interest{Filter: bson.D{{"data.price", bson.D{{"$gt", 100}}}}})
	if err != nil {
		return err
	}
	defer dear.Close(ctx)

	prices := []struct {
		share string
		quote quote
	}{{"PIP", quote{12.5}}, {"POP", quote{120}}, {"PIP", quote{13}}, {"PUP", quote{250}}}
	for _, p := range prices {
		if err := topics.Publish(ctx, "shares."+p.share, p.quote); err != nil {
			return err
		}
	}
	for range prices {
		if err := hear(ctx, out, "all", all); err != nil {
			return err
		}
	}
	for range 2 {
		if err := hear(ctx, out, "dear", dear); err != nil {
			return err
		}
	}
	return nil
}

// hear prints the next message of a subscription.
func hear(ctx context.Context, out io.Writer, who string, from *topic.Subscription) error {
	m, err := from.Next(ctx)
	if err != nil {
		return err
	}
	var q quote
	if err := m.Decode(&q); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %s at %.2f\n", who, m.Topic, q.Price)
	return nil
}

// bookkeeping handles two messages and stops. The next call continues after these messages.
func bookkeeping(ctx context.Context, out io.Writer, topics *topic.Topics) error {
	working, stop := context.WithCancel(ctx)
	defer stop()
	handled := 0
	err := topics.Consume(working, "bookkeeping", topic.Interest{From: topic.Beginning()},
		func(_ context.Context, m *topic.Message) error {
			fmt.Fprintln(out, "booked:", m.Topic)
			if handled++; handled == 2 {
				stop()
			}
			return nil
		})
	if !errors.Is(err, context.Canceled) {
		return err
	}
	lag, err := topics.Lag(ctx, "bookkeeping")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "the bookkeeping stops,", lag.Messages, "messages behind")
	return nil
}
