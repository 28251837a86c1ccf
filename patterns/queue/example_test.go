package queue_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/patterns/queue"
)

// shop returns a database for the examples.
func shop() (db *mongo.Database, end func()) {
	s, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	return s.Client().Database("shop"), func() { _ = s.Close() }
}

// Image is the payload of the example's jobs.
type Image struct{ Source, Output string }

// One part of a program puts jobs, and a pool of workers executes them.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	db, end := shop()
	defer end()
	jobs, err := queue.New(db, queue.Config{})
	if err != nil {
		log.Fatal(err)
	}
	if err := jobs.EnsureIndexes(ctx); err != nil {
		log.Fatal(err)
	}
	if _, err := jobs.Put(ctx, queue.Spec{Kind: "convert", Payload: Image{"cat.png", "cat.jpg"}}); err != nil {
		log.Fatal(err)
	}

	worker := jobs.NewWorker(queue.Kinds{
		"convert": queue.Typed(func(ctx context.Context, job *queue.Taken, image Image) error {
			fmt.Println(image.Source, "becomes", image.Output)
			cancel() // stop the worker after this job
			return nil
		}),
	}.Handle, queue.WorkerConfig{})
	if err := worker.Run(ctx); !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}

	stats, err := jobs.Stats(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(stats.Done, "done")
	// Output:
	// cat.png becomes cat.jpg
	// 1 done
}

// The most urgent job is taken first. A job that is not due yet is not taken.
func ExampleQueue_Take() {
	ctx := context.Background()
	db, end := shop()
	defer end()
	jobs, err := queue.New(db, queue.Config{})
	if err != nil {
		log.Fatal(err)
	}
	if err := jobs.EnsureIndexes(ctx); err != nil {
		log.Fatal(err)
	}
	for _, spec := range []queue.Spec{
		{ID: "newsletter", Priority: 1},
		{ID: "password", Priority: 5},
		{ID: "reminder", Priority: 9, At: time.Now().Add(time.Hour)},
	} {
		if _, err := jobs.Put(ctx, spec); err != nil {
			log.Fatal(err)
		}
	}
	for {
		job, err := jobs.Take(ctx)
		if errors.Is(err, queue.ErrEmpty) {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(job.ID)
		if err := job.Done(ctx); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// password
	// newsletter
}

// The job's writes and the end of the job happen in one transaction: exactly once, however often
// the job is tried.
func ExampleTaken_DoneWith() {
	ctx := context.Background()
	db, end := shop()
	defer end()
	jobs, err := queue.New(db, queue.Config{})
	if err != nil {
		log.Fatal(err)
	}
	if err := jobs.EnsureIndexes(ctx); err != nil {
		log.Fatal(err)
	}
	if _, err := jobs.Put(ctx, queue.Spec{ID: "invoice-7"}); err != nil {
		log.Fatal(err)
	}
	job, err := jobs.Take(ctx)
	if err != nil {
		log.Fatal(err)
	}
	invoices := db.Collection("invoices")
	err = job.DoneWith(ctx, func(ctx context.Context) error {
		_, err := invoices.InsertOne(ctx, map[string]any{"of": job.ID})
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	n, err := invoices.EstimatedDocumentCount(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(n, "invoice")
	// Output: 1 invoice
}

// The report is made after all parts of the import are done.
func ExampleQueue_PutBatch() {
	ctx := context.Background()
	db, end := shop()
	defer end()
	jobs, err := queue.New(db, queue.Config{})
	if err != nil {
		log.Fatal(err)
	}
	if err := jobs.EnsureIndexes(ctx); err != nil {
		log.Fatal(err)
	}
	err = jobs.PutBatch(ctx, queue.Batch{
		ID:   "import-2026-05",
		Jobs: []queue.Spec{{Payload: "a.csv"}, {Payload: "b.csv"}},
		Then: &queue.Spec{Payload: "report"},
	})
	if err != nil {
		log.Fatal(err)
	}
	for range 3 {
		job, err := jobs.Take(ctx)
		if err != nil {
			log.Fatal(err)
		}
		var what string
		if err := job.Decode(&what); err != nil {
			log.Fatal(err)
		}
		fmt.Println(job.ID, what)
		if err := job.Done(ctx); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// import-2026-05/0 a.csv
	// import-2026-05/1 b.csv
	// import-2026-05/then report
}

// Dead letters can be listed and put back.
func ExampleQueue_RequeueDead() {
	ctx := context.Background()
	db, end := shop()
	defer end()
	jobs, err := queue.New(db, queue.Config{MaxAttempts: 1})
	if err != nil {
		log.Fatal(err)
	}
	if err := jobs.EnsureIndexes(ctx); err != nil {
		log.Fatal(err)
	}
	if _, err := jobs.Put(ctx, queue.Spec{ID: "mail-3"}); err != nil {
		log.Fatal(err)
	}
	job, err := jobs.Take(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if err := job.Fail(ctx, errors.New("no such host")); err != nil {
		log.Fatal(err)
	}
	for dead, err := range jobs.Jobs(ctx, queue.Query{State: queue.Dead}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(dead.ID, dead.Errors[0].Error)
	}
	n, err := jobs.RequeueDead(ctx, "")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(n, "put back")
	// Output:
	// mail-3 no such host
	// 1 put back
}
