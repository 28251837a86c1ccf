// Command shop sells products. It rearranges a tree of categories, migrates products that an
// earlier version stored, fills carts until the stock is sold out, and leaves jobs for each order
// to another program. It demonstrates patterns/category, schema, cart and queue.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/examples/internal/demo"
	"github.com/sheafdb/sheaf/patterns/cart"
	"github.com/sheafdb/sheaf/patterns/category"
	"github.com/sheafdb/sheaf/patterns/queue"
	"github.com/sheafdb/sheaf/patterns/schema"
)

func main() { demo.Main("shop", run) }

func run(ctx context.Context, out io.Writer, db *mongo.Database) error {
	for _, step := range []func(context.Context, io.Writer, *mongo.Database) error{migrate, rearrange, sell} {
		if err := step(ctx, out, db); err != nil {
			return err
		}
	}
	return nil
}

// product is a product in the current version of the schema.
type product struct {
	SKU   string `bson:"_id"`
	Title string
	Price int64
}

// migrate stores products in an older version of the schema. It reads one of them in the current
// version, and then migrates all of them.
func migrate(ctx context.Context, out io.Writer, db *mongo.Database) error {
	products, err := schema.New(db, schema.Config{Collection: "products", Steps: []schema.Step{
		schema.Rename("name", "title"), schema.Default("price", int64(39_90)),
	}})
	if err != nil {
		return err
	}
	_, err = db.Collection("products").
		InsertMany(ctx, []bson.M{{"_id": "lamp", "name": "Desk lamp"}, {"_id": "uno", "name": "Arduino Uno"}})
	if err := errors.Join(err, products.EnsureIndexes(ctx)); err != nil {
		return err
	}
	var lamp product
	if err := products.Get(ctx, "lamp", &lamp); err != nil {
		return err
	}
	res, err := products.Migrate(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s costs %d; then %d products are migrated\n", lamp.Title, lamp.Price, res.Migrated)
	return demo.Check(ctx, out, "schema", products)
}

// rearrange moves a branch of the category tree. The product in the branch moves with it.
func rearrange(ctx context.Context, out io.Writer, db *mongo.Database) error {
	tree, err := category.New(db, category.Config{Design: category.Paths})
	if err != nil {
		return err
	}
	if err := tree.EnsureIndexes(ctx); err != nil {
		return err
	}
	ids := map[string]bson.ObjectID{"": category.Top}
	for _, c := range []struct{ parent, slug, name string }{
		{"", "electronics", "Electronics"},
		{"electronics", "embedded", "Embedded"},
		{"embedded", "boards", "Boards"},
		{"", "diy", "Do it yourself"},
	} {
		added, err := tree.Add(ctx, ids[c.parent], c.slug, c.name)
		if err != nil {
			return err
		}
		ids[c.slug] = added.ID
	}
	if err := tree.Assign(ctx, "uno", ids["boards"]); err != nil {
		return err
	}
	if err := tree.Move(ctx, ids["embedded"], ids["diy"]); err != nil {
		return err
	}
	boards, crumbs, err := tree.Find(ctx, "boards")
	if err != nil {
		return err
	}
	for _, c := range crumbs {
		fmt.Fprint(out, c.Name, " > ")
	}
	n, err := tree.CountProducts(ctx, ids["diy"], category.AndBelow)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s; products below Do it yourself: %d\n", boards.Name, n)
	return demo.Check(ctx, out, "category", tree)
}

// sell lets two customers buy from a stock of three lamps.
func sell(ctx context.Context, out io.Writer, db *mongo.Database) error {
	shop, err := cart.New(db, cart.Config{})
	if err != nil {
		return err
	}
	jobs, err := queue.New(db, queue.Config{})
	if err != nil {
		return err
	}
	if err := errors.Join(shop.EnsureIndexes(ctx), jobs.EnsureIndexes(ctx), shop.Adjust(ctx, "lamp", 3)); err != nil {
		return err
	}
	lamp := cart.Item{SKU: "lamp", Name: "Desk lamp", Price: 39_90}
	if err := shop.Add(ctx, "ann", lamp, 2); err != nil {
		return err
	}
	fmt.Fprintln(out, "joe hears that there are not two left:",
		errors.Is(shop.Add(ctx, "joe", lamp, 2), cart.ErrInsufficientStock))
	if err := shop.Add(ctx, "joe", lamp, 1); err != nil {
		return err
	}
	for _, who := range []string{"ann", "joe"} {
		order, err := shop.Checkout(ctx, who, "Some street 1",
			func(context.Context, *cart.Cart) (any, error) { return "visa", nil })
		if err != nil {
			return err
		}
		// The job's ID contains the order's ID. So if the program puts the job twice, there is
		// still only one job.
		if _, err := jobs.Put(ctx, queue.Spec{ID: "confirm-" + order.ID, Payload: order.Total}); err != nil {
			return err
		}
	}
	if err := confirm(ctx, out, jobs, 2); err != nil {
		return err
	}
	if err := demo.Check(ctx, out, "cart", shop); err != nil {
		return err
	}
	return demo.Check(ctx, out, "queue", jobs)
}

// confirm plays the part of another program. It runs a worker until n jobs are done.
func confirm(ctx context.Context, out io.Writer, jobs *queue.Queue, n int) error {
	working, stop := context.WithCancel(ctx)
	defer stop()
	worker := jobs.NewWorker(queue.Typed(func(_ context.Context, job *queue.Taken, total int64) error {
		fmt.Fprintln(out, job.ID, total)
		if n--; n == 0 {
			stop()
		}
		return nil
	}), queue.WorkerConfig{Concurrency: 1})
	if err := worker.Run(working); !errors.Is(err, context.Canceled) {
		return err
	}
	stats, err := jobs.Stats(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, stats.Done, "jobs are done,", stats.Waiting+stats.Running, "are not")
	return nil
}
