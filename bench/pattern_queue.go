package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

const (
	// waitingJobs is the number of jobs in the queue at the beginning. A worker that finds the
	// queue empty adds a batch of jobs.
	waitingJobs = 10_000
	// jobPayload is the text in the payload of a job.
	jobPayload = "resize the picture whose number is in the field of that name and put it where the others of its album are"
	priorities = 5
)

// job returns the n-th job.
func job(n int64) bson.D {
	return bson.D{
		{"_id", n},
		{"startTime", nil},
		{"endTime", nil},
		{"createdOn", n},
		{"priority", n * stride % priorities},
		{"payload", bson.D{{"picture", n}, {"what", jobPayload}}},
	}
}

// indexQueue creates the indexes of a queue.
func indexQueue(ctx context.Context, c *mongo.Collection) error {
	return indexOn(ctx, c, bson.D{{"startTime", 1}, {"createdOn", 1}},
		bson.D{{"startTime", 1}, {"priority", -1}, {"createdOn", 1}})
}

func queuePublish(ctx context.Context, db *mongo.Database) (*routine, error) {
	c := db.Collection("queue")
	return repeat(func(ctx context.Context, w *worker) error {
		_, err := c.InsertOne(ctx, job(w.ids.Add(1)))
		return err
	}), indexQueue(ctx, c)
}

// pgQueue creates the table of the queue. Its indexes are partial, because PostgreSQL could not
// sort by a full index whose first column is null for all waiting jobs.
func pgQueue(ctx context.Context, pool *pgxpool.Pool) error {
	const waiting = " where doc->>'startTime' is null"
	return pgTable(ctx, pool, "queue", "bigint", "(((doc->>'createdOn')::bigint))"+waiting,
		"(((doc->>'priority')::bigint) desc, ((doc->>'createdOn')::bigint))"+waiting)
}

func pgQueuePublish(ctx context.Context, pool *pgxpool.Pool) (*routine, error) {
	return repeat(func(ctx context.Context, w *worker) error {
		doc := job(w.ids.Add(1))
		text, err := asJSON(doc[1:])
		if err != nil {
			return err
		}
		return pgChange(ctx, pool, "insert into queue values ($1, $2)", doc[0].Value, text)
	}), pgQueue(ctx, pool)
}

// queueTake takes the first waiting job in the given order. Higher priorities come first.
func queueTake(order ...string) mongoPattern {
	var sort bson.D
	for _, name := range order {
		direction := 1
		if name == "priority" {
			direction = -1
		}
		sort = append(sort, bson.E{name, direction})
	}
	return func(ctx context.Context, db *mongo.Database) (*routine, error) {
		c := db.Collection("queue")
		var last atomic.Int64
		more := func(n int) error {
			from := last.Add(int64(n)) - int64(n)
			return fill(ctx, c, n, func(i int) bson.D { return job(from + int64(i)) })
		}
		opts := options.FindOneAndUpdate().SetSort(sort).SetReturnDocument(options.After)
		do := func(ctx context.Context, w *worker) error {
			raw, err := c.FindOneAndUpdate(ctx, field("startTime", nil),
				field("$set", field("startTime", w.ids.Add(1))), opts).Raw()
			if errors.Is(err, mongo.ErrNoDocuments) {
				return more(insertBatch)
			}
			if err != nil {
				return err
			}
			return changeOne(ctx, c, field("_id", raw.Lookup("_id")), field("$set", field("endTime", w.ids.Add(1))))
		}
		return repeat(do), errors.Join(more(waitingJobs), indexQueue(ctx, c))
	}
}

func pgQueueTake(order string) postgresPattern {
	take := `update queue set doc = jsonb_set(doc, '{startTime}', to_jsonb($1::bigint)) where id =
		(select id from queue where doc->>'startTime' is null order by ` + order + ` limit 1 for update skip locked) returning id, doc`
	const end = "update queue set doc = jsonb_set(doc, '{endTime}', to_jsonb($2::bigint)) where id = $1"
	return func(ctx context.Context, pool *pgxpool.Pool) (*routine, error) {
		var last atomic.Int64
		more := func(n int) error {
			from := last.Add(int64(n)) - int64(n)
			return pgFill(ctx, pool, "queue", n, func(i int) bson.D { return job(from + int64(i)) })
		}
		do := func(ctx context.Context, w *worker) error {
			var id int64
			var doc []byte
			err := pool.QueryRow(ctx, take, w.ids.Add(1)).Scan(&id, &doc)
			if errors.Is(err, pgx.ErrNoRows) {
				return more(insertBatch)
			}
			if err != nil {
				return err
			}
			return pgChange(ctx, pool, end, id, w.ids.Add(1))
		}
		if err := pgQueue(ctx, pool); err != nil {
			return nil, err
		}
		return repeat(do), more(waitingJobs)
	}
}

const (
	listeners = 40
	// topicSize is the size of the capped collection in bytes. The collection holds the messages of
	// several seconds.
	topicSize = 256 << 20
)

// tickerMessage returns the n-th message of a topic.
func tickerMessage(n int64) bson.D {
	return bson.D{{"_id", n}, {"ticker", "PIP"}, {"price", float64(n*stride%100_000) / 1000}}
}

// audience is a group of listeners. Each listener counts the messages that it receives until it is
// stopped.
type audience struct {
	received atomic.Int64
	cancel   context.CancelFunc
	wg       sync.WaitGroup
	failed   atomic.Pointer[error]
}

// gather starts the listeners, and returns when all of them are ready.
func gather(ctx context.Context,
	listen func(ctx context.Context, ready func(), received *atomic.Int64) error,
) (*audience, error) {
	ctx, cancel := context.WithCancel(ctx)
	a := &audience{cancel: cancel}
	ready := make(chan struct{}, 2*listeners)
	for range listeners {
		a.wg.Go(func() {
			if err := listen(ctx, func() { ready <- struct{}{} }, &a.received); err != nil && ctx.Err() == nil {
				a.failed.CompareAndSwap(nil, &err)
				ready <- struct{}{}
			}
		})
	}
	for range listeners {
		<-ready
	}
	return a, a.err()
}

func (a *audience) err() error {
	if err := a.failed.Load(); err != nil {
		return fmt.Errorf("a listener: %w", *err)
	}
	return nil
}

// wait blocks until every listener has received all published messages.
func (a *audience) wait(ctx context.Context, published int64) error {
	for a.received.Load() < published*listeners {
		if err := errors.Join(a.err(), ctx.Err()); err != nil {
			return err
		}
		time.Sleep(100 * time.Microsecond)
	}
	return nil
}

func (a *audience) end() error {
	a.cancel()
	a.wg.Wait()
	return a.err()
}

// routine returns a routine that publishes messages to the audience.
func (a *audience) routine(publish func(ctx context.Context, n int64) error) *routine {
	var published atomic.Int64
	return &routine{
		do:     func(ctx context.Context, _ *worker) error { return publish(ctx, published.Add(1)) },
		finish: func(ctx context.Context) error { return a.wait(ctx, published.Load()) },
		end:    a.end,
	}
}

func topicByHand(ctx context.Context, db *mongo.Database) (*routine, error) {
	if err := db.CreateCollection(ctx, "topic",
		options.CreateCollection().SetCapped(true).SetSizeInBytes(topicSize)); err != nil {
		return nil, err
	}
	c := db.Collection("topic")
	// Without this message the collection is empty, and no tailable cursor stays open.
	if _, err := c.InsertOne(ctx, tickerMessage(0)); err != nil {
		return nil, err
	}
	a, err := gather(ctx, func(ctx context.Context, ready func(), received *atomic.Int64) error {
		cursor, err := c.Find(ctx, bson.D{},
			options.Find().SetCursorType(options.TailableAwait).SetBatchSize(insertBatch))
		if err != nil {
			return err
		}
		defer cursor.Close(context.WithoutCancel(ctx))
		if !cursor.Next(ctx) {
			return cursor.Err()
		}
		ready()
		for cursor.Next(ctx) {
			received.Add(1)
		}
		return cursor.Err()
	})
	if err != nil {
		return nil, err
	}
	return a.routine(func(ctx context.Context, n int64) error {
		_, err := c.InsertOne(ctx, tickerMessage(n))
		return err
	}), nil
}

func pgTopic(ctx context.Context, pool *pgxpool.Pool) (*routine, error) {
	if err := pgTable(ctx, pool, "topic", "bigint"); err != nil {
		return nil, err
	}
	a, err := gather(ctx, func(ctx context.Context, ready func(), received *atomic.Int64) error {
		conn, err := pgx.ConnectConfig(ctx, pool.Config().ConnConfig)
		if err != nil {
			return err
		}
		defer conn.Close(context.WithoutCancel(ctx))
		if _, err := conn.Exec(ctx, "listen topic"); err != nil {
			return err
		}
		ready()
		for {
			if _, err := conn.WaitForNotification(ctx); err != nil {
				return err
			}
			received.Add(1)
		}
	})
	if err != nil {
		return nil, err
	}
	return a.routine(func(ctx context.Context, n int64) error {
		text, err := asJSON(tickerMessage(n)[1:])
		if err != nil {
			return err
		}
		_, err = pool.Exec(ctx, "with m as (insert into topic values ($1, $2) returning doc) select pg_notify('topic', doc::text) from m", n, text)
		return err
	}), nil
}
