package hits_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/patterns/hits"
)

// A server counts the views of an auction in memory, writes the counts every second, and shows a
// chart of the day.
func Example() {
	store, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	db := store.Client().Database("auctions")

	counters, err := hits.New(db, hits.Config{})
	if err != nil {
		log.Fatal(err)
	}
	if err := counters.EnsureIndexes(context.Background()); err != nil {
		log.Fatal(err)
	}
	writer, err := counters.NewWriter(hits.WriterConfig{})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- writer.Run(ctx) }()

	day := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	for i := range 1000 { // a thousand views, from 9 to 11 o'clock
		at := day.Add(9*time.Hour + time.Duration(i)*7*time.Second)
		if err := writer.Hit(hits.Hit{Site: "auctions.example", Page: "/lot/17", At: at}); err != nil {
			log.Print(err) // the database has been unavailable for a long time
		}
	}
	stop() // Run writes the hits that are still in memory
	if err := <-done; err != nil {
		log.Fatal(err)
	}
	chart, err := counters.Chart(context.Background(), "auctions.example", "/lot/17", hits.Hour,
		day.Add(8*time.Hour), day.Add(12*time.Hour))
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range chart {
		fmt.Println(p.Start.Format("15:04"), p.N)
	}
	// Output:
	// 08:00 0
	// 09:00 515
	// 10:00 485
	// 11:00 0
}

// Hits that are known together, such as the hits of a log file, are added together.
func ExampleCounters_Add() {
	ctx := context.Background()
	db, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	counters, err := hits.New(db.Client().Database("stats"), hits.Config{})
	if err != nil {
		log.Fatal(err)
	}
	march := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	err = counters.Add(ctx,
		hits.Hit{Site: "example.com", Page: "/", At: march, N: 120},
		hits.Hit{Site: "example.com", Page: "/", At: march.AddDate(0, 0, 1), N: 80},
		hits.Hit{Site: "example.com", Page: "/about", At: march, N: 7})
	if err != nil {
		log.Fatal(err)
	}
	pages, err := counters.Top(ctx, "example.com", march, march.AddDate(0, 1, 0), 10)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(pages)
	// Output: [{/ 200} {/about 7}]
}
