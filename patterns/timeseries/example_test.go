package timeseries_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/patterns/timeseries"
)

// The program counts the views of a page by the second, and shows them by the quarter of a minute.
func Example() {
	ctx := context.Background()
	store, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	db := store.Client().Database("analytics")

	views, err := timeseries.New(db, timeseries.Config{Keep: 30 * 24 * time.Hour})
	if err != nil {
		log.Fatal(err)
	}
	if err := views.EnsureIndexes(ctx); err != nil {
		log.Fatal(err)
	}
	from := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for second := range 40 {
		view := timeseries.Sample{Tag: "/index.htm", At: from.Add(time.Duration(second) * time.Second), N: 1}
		if err := views.Add(ctx, view); err != nil {
			log.Fatal(err)
		}
	}
	points, err := views.Query(ctx, "/index.htm", from, from.Add(time.Minute), 15*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range points {
		fmt.Println(p.Start.Format(time.TimeOnly), p.N)
	}
	// Output:
	// 12:00:00 15
	// 12:00:15 15
	// 12:00:30 10
	// 12:00:45 0
}

// A program creates the documents of the next day while it has little to do.
func ExampleWindows() {
	ctx := context.Background()
	db, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	views, err := timeseries.NewWindows(db.Client().Database("analytics"), timeseries.Config{})
	if err != nil {
		log.Fatal(err)
	}
	if err := views.EnsureIndexes(ctx); err != nil {
		log.Fatal(err)
	}
	tomorrow := time.Date(2026, 5, 2, 0, 0, 0, 0, time.UTC)
	n, err := views.Preallocate(ctx, "/index.htm", tomorrow, tomorrow.AddDate(0, 0, 1))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(n)
	// Output: 4
}
