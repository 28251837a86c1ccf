package rollup_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/patterntest"
	"github.com/sheafdb/sheaf/patterns/rollup"
)

// Sessions of users are summed up, including a session that is reported a day late.
func Example() {
	ctx := context.Background()
	store, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	db := store.Client().Database("analytics")

	day := time.Date(2026, 4, 30, 0, 0, 0, 0, time.UTC)
	events := []rollup.Event{
		{ID: 1, Key: "u1", At: day.Add(10 * time.Hour), Value: 10},
		{ID: 2, Key: "u1", At: day.Add(34 * time.Hour), Value: 20},
		{ID: 2, Key: "u1", At: day.Add(34 * time.Hour), Value: 20}, // sent again
		{ID: 3, Key: "u1", At: day.Add(11 * time.Hour), Value: 60},
	}
	clock := patterntest.NewClock()
	sessions, err := rollup.New(db, rollup.Config{Env: patterns.Env{Clock: clock}}) // a program leaves Env out
	if err != nil {
		log.Fatal(err)
	}
	if err := sessions.EnsureIndexes(ctx); err != nil {
		log.Fatal(err)
	}
	for _, event := range events {
		if err := sessions.Record(ctx, event); err != nil {
			log.Fatal(err)
		}
		clock.Advance(time.Hour)
		if _, err := sessions.Update(ctx); err != nil { // a program calls Run instead
			log.Fatal(err)
		}
	}
	for _, level := range []rollup.Level{rollup.Daily, rollup.Yearly} {
		stats, err := sessions.Stats(ctx, level, "u1", sessions.Start(level, day), day.AddDate(0, 0, 7))
		if err != nil {
			log.Fatal(err)
		}
		for _, s := range stats {
			fmt.Println(level, s.ID.Start.Format(time.DateOnly), s.Value.Total, s.Value.Count, s.Value.Mean)
		}
	}
	// Output:
	// daily 2026-04-30 70 2 35
	// daily 2026-05-01 20 1 20
	// yearly 2026-01-01 90 3 30
}
