package main

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns/eventlog"
	"github.com/sheafdb/sheaf/patterns/hits"
	"github.com/sheafdb/sheaf/patterns/timeseries"
)

// hitTime converts the simulated second of a hit to a time.
func hitTime(second int64) time.Time {
	return time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(second) * time.Second)
}

// useTimeseries counts views per page and second with package timeseries.
func useTimeseries(ctx context.Context, db *mongo.Database) (*routine, error) {
	views, err := timeseries.New(db, timeseries.Config{})
	if err != nil {
		return nil, err
	}
	return repeat(func(ctx context.Context, w *worker) error {
		page, second := hit(w)
		return views.Add(ctx, timeseries.Sample{Tag: fmt.Sprint("page", page), At: hitTime(second), N: 1})
	}), views.EnsureIndexes(ctx)
}

// useHits counts hits per page with package hits.
func useHits(ctx context.Context, db *mongo.Database) (*routine, error) {
	counters, err := hits.New(db, hits.Config{})
	if err != nil {
		return nil, err
	}
	return repeat(func(ctx context.Context, w *worker) error {
		page, second := hit(w)
		return counters.Add(ctx, hits.Hit{Site: "site-1", Page: fmt.Sprint("/page", page), At: hitTime(second)})
	}), counters.EnsureIndexes(ctx)
}

// useEventlog appends events with package eventlog, with the write concern of the run.
func useEventlog(ctx context.Context, db *mongo.Database) (*routine, error) {
	events, err := eventlog.New(db, eventlog.Config{})
	if err != nil {
		return nil, err
	}
	return repeat(func(ctx context.Context, w *worker) error {
		n, class := w.ids.Add(1), eventlog.Acknowledged
		if w.writes == concernSynced {
			class = eventlog.ReplicatedJournaled
		}
		return events.Append(ctx, class, &eventlog.Event{
			ID: bson.NewObjectID(), Time: hitTime(n / 1000), Host: fmt.Sprintf("10.0.%d.%d", n%7, n%251), User: "frank",
			Method: "GET", Path: fmt.Sprintf("/page%d.gif", n%pages), Protocol: "HTTP/1.0", Status: 200, Size: 2326,
			Referrer: "http://www.example.com/start.html", UserAgent: "Mozilla/4.08 [en] (Win98; I ;Nav)",
		})
	}), events.EnsureIndexes(ctx)
}
