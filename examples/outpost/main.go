// Command outpost is a market stall whose connection to the head office is cut for a while. The
// stall keeps its sales until the office is reachable again. Until then it shows the last known
// price. The program demonstrates patterns/queue/moat and failover.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/examples/internal/demo"
	"github.com/sheafdb/sheaf/patterns/failover"
	"github.com/sheafdb/sheaf/patterns/queue/moat"
)

func main() { demo.Main("outpost", run) }

// patience is how long the stall waits for an answer from the office.
const patience = 100 * time.Millisecond

// run uses db as the stall's database. The office is a store in memory behind a line.
func run(ctx context.Context, out io.Writer, db *mongo.Database) (err error) {
	store, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	office := store.Client().Database("office")
	_, err = office.Collection("products").InsertOne(ctx, bson.D{{"_id", "pen"}, {"price", 250}, {"stock", 10}})
	if err != nil {
		return err
	}
	options := store.ClientOptions()
	line := &line{dialer: options.Dialer}
	client, err := mongo.Connect(options.SetDialer(line).SetServerSelectionTimeout(patience))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Disconnect(context.WithoutCancel(ctx))) }()
	s, err := open(ctx, out, db, client.Database("office"))
	if err != nil {
		return err
	}
	return s.work(ctx, line, office)
}

// stall sells pens. It stores the sales that the office does not have yet, and remembers the last
// price.
type stall struct {
	out    io.Writer
	sales  *moat.Moat
	office *failover.Failover
}

func open(ctx context.Context, out io.Writer, db, office *mongo.Database) (*stall, error) {
	sales, err := moat.New(db, office, moat.Config{Pace: patience})
	if err != nil {
		return nil, err
	}
	f, err := failover.New(office, failover.Config{Patience: patience, Probe: patience})
	if err != nil {
		return nil, err
	}
	return &stall{out: out, sales: sales, office: f}, sales.EnsureIndexes(ctx)
}

// work is a day at the stall. During the day, the line is cut and mended, and the price changes.
func (s *stall) work(ctx context.Context, line *line, office *mongo.Database) error {
	replaying, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.sales.Run(replaying) }()
	err := errors.Join(s.sell(ctx, "sale-1"), s.sales.Flush(ctx), s.say(ctx, office, "the line is there"))
	line.cut()
	_, change := office.Collection("products").UpdateByID(ctx, "pen", bson.D{{"$set", bson.D{{"price", 300}}}})
	err = errors.Join(err, change, s.sell(ctx, "sale-2"), s.sell(ctx, "sale-3"), s.say(ctx, office, "it is cut"))
	line.mend()
	if err == nil {
		err = errors.Join(s.sales.Flush(ctx), s.heard(ctx), s.say(ctx, office, "it is back"))
	}
	stop()
	if cause := <-ended; !errors.Is(cause, context.Canceled) {
		err = errors.Join(err, cause)
	}
	return errors.Join(err, demo.Check(ctx, s.out, "moat", s.sales))
}

// sell records two writes for the office: the sale, and the decrement of the stock.
func (s *stall) sell(ctx context.Context, id string) error {
	return s.sales.Write(ctx,
		moat.Insert("sales", bson.D{{"_id", id}, {"product", "pen"}}),
		moat.Update("products", "pen", bson.D{{"$inc", bson.D{{"stock", -1}}}}))
}

// price returns the price from the office, or the last known price if the office does not answer.
func (s *stall) price(ctx context.Context) (failover.Cached[int64], error) {
	return failover.Answer(ctx, s.office, "price of the pen",
		func(ctx context.Context, db *mongo.Database) (int64, error) {
			var pen struct{ Price int64 }
			err := db.Collection("products").FindOne(ctx, bson.D{{"_id", "pen"}}).Decode(&pen)
			return pen.Price, err
		})
}

// heard waits until the price comes from the office again. The failover asks the office at
// intervals.
func (s *stall) heard(ctx context.Context) error {
	for {
		price, err := s.price(ctx)
		if err != nil || !price.Stale {
			return err
		}
		time.Sleep(patience / 10)
	}
}

// say prints the stall's price and pending writes next to the office's price and stock.
func (s *stall) say(ctx context.Context, office *mongo.Database, when string) error {
	price, err := s.price(ctx)
	if err != nil {
		return err
	}
	stats, err := s.sales.Stats(ctx)
	if err != nil {
		return err
	}
	var pen struct{ Price, Stock int64 }
	if err := office.Collection("products").FindOne(ctx, bson.D{{"_id", "pen"}}).Decode(&pen); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "%s: the stall says %d (old: %v) and keeps %d writes; the office has %d pens at %d\n",
		when, price.Value, price.Stale, stats.Waiting, pen.Stock, pen.Price)
	return nil
}
