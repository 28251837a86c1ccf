// Command analytics evaluates an access log. It stores the requests for a limited time, counts hits
// per page and hour, counts requests per second, and sums up bytes per day. The program reads a
// part of the log twice, but counts it once. It demonstrates patterns/eventlog, hits, timeseries
// and rollup.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/examples/internal/demo"
	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/eventlog"
	"github.com/sheafdb/sheaf/patterns/hits"
	"github.com/sheafdb/sheaf/patterns/rollup"
	"github.com/sheafdb/sheaf/patterns/timeseries"
)

func main() { demo.Main("analytics", run) }

// start is the time of the first request: an hour before midnight.
var start = time.Date(2026, 4, 30, 23, 0, 0, 0, time.UTC)

func run(ctx context.Context, out io.Writer, db *mongo.Database) error {
	var events []*eventlog.Event
	for e, err := range eventlog.Parse(strings.NewReader(accessLog())) {
		if err != nil {
			fmt.Fprintln(out, err)
			continue
		}
		events = append(events, e)
	}
	for _, step := range []func(context.Context, io.Writer, *mongo.Database,
		[]*eventlog.Event) error{keep, count, measure, sumUp} {
		if err := step(ctx, out, db, events); err != nil {
			return err
		}
	}
	return nil
}

// accessLog returns a log of 600 requests, one every twelve seconds. Its last line is invalid.
func accessLog() string {
	var lines strings.Builder
	for i := range 600 {
		at := start.Add(time.Duration(i) * 12 * time.Second).Format("02/Jan/2006:15:04:05 -0700")
		page := []string{"/", "/", "/about"}[i%3]
		fmt.Fprintf(&lines, "10.0.0.%d - - [%s] \"GET %s HTTP/1.1\" 200 %d\n", i%7, at, page, 100+i%10)
	}
	lines.WriteString("not a line of a log\n")
	return lines.String()
}

// keep stores the requests as events, and counts them by day and page.
func keep(ctx context.Context, out io.Writer, db *mongo.Database, events []*eventlog.Event) error {
	log, err := eventlog.New(db, eventlog.Config{Collection: "requests"})
	if err != nil {
		return err
	}
	if err := errors.Join(log.EnsureIndexes(ctx), log.Append(ctx, eventlog.Journaled, events...)); err != nil {
		return err
	}
	var again *eventlog.AppendError
	if !errors.As(log.Append(ctx, eventlog.Acknowledged, events[:50]...), &again) {
		return errors.New("events were stored twice")
	}
	fmt.Fprintln(out, "appended again, and found to be there:", len(again.Failures))
	counts, err := log.CountByDay(ctx, eventlog.Query{})
	if err != nil {
		return err
	}
	for _, c := range counts {
		fmt.Fprintln(out, c.Day.Format(time.DateOnly), c.Path, c.N)
	}
	return demo.Check(ctx, out, "eventlog", log)
}

// count counts hits per page and hour for a chart. A real program would call the writer's Run,
// which writes every second. This program calls Flush.
func count(ctx context.Context, out io.Writer, db *mongo.Database, events []*eventlog.Event) error {
	counters, err := hits.New(db, hits.Config{})
	if err != nil {
		return err
	}
	writer, err := counters.NewWriter(hits.WriterConfig{})
	if err != nil {
		return err
	}
	if err := counters.EnsureIndexes(ctx); err != nil {
		return err
	}
	for _, e := range events {
		if err := writer.Hit(hits.Hit{Site: "example.com", Page: e.Path, At: e.Time}); err != nil {
			return err
		}
	}
	if err := writer.Flush(ctx); err != nil {
		return err
	}
	chart, err := counters.Chart(ctx, "example.com", "/", hits.Hour, start, start.Add(3*time.Hour))
	if err != nil {
		return err
	}
	for _, p := range chart {
		fmt.Fprintln(out, "hits of / from", p.Start.Format("15:04"), p.N)
	}
	return demo.Check(ctx, out, "hits", counters)
}

// measure stores the number of requests per second, and reads it per half minute.
func measure(ctx context.Context, out io.Writer, db *mongo.Database, events []*eventlog.Event) error {
	series, err := timeseries.New(db, timeseries.Config{})
	if err != nil {
		return err
	}
	samples := make([]timeseries.Sample, len(events))
	for i, e := range events {
		samples[i] = timeseries.Sample{Tag: "requests", At: e.Time, N: 1}
	}
	if err := errors.Join(series.EnsureIndexes(ctx), series.Add(ctx, samples...)); err != nil {
		return err
	}
	points, err := series.Query(ctx, "requests", start, start.Add(time.Minute), 30*time.Second)
	if err != nil {
		return err
	}
	for _, p := range points {
		fmt.Fprintln(out, "requests from", p.Start.Format(time.TimeOnly), p.N)
	}
	return demo.Check(ctx, out, "timeseries", series)
}

// sumUp sums up the bytes per day and year. The sums are right although some events arrive late or
// twice. A real program would call the method Run of the rollup.
func sumUp(ctx context.Context, out io.Writer, db *mongo.Database, events []*eventlog.Event) error {
	// A short time is enough, because one process records and sums up. If several processes record,
	// keep the default.
	const settle = time.Millisecond
	traffic, err := rollup.New(db, rollup.Config{Settle: settle})
	if err != nil {
		return err
	}
	bytes := make([]rollup.Event, len(events))
	for i, e := range events {
		bytes[i] = rollup.Event{ID: e.ID, Key: e.Path, At: e.Time, Value: e.Size}
	}
	if err := traffic.EnsureIndexes(ctx); err != nil {
		return err
	}
	for _, part := range [][]rollup.Event{bytes[400:], bytes[:200], bytes[100:500]} {
		if err := traffic.Record(ctx, part...); err != nil {
			return err
		}
		if err := (patterns.SystemClock{}).Sleep(ctx, 3*settle); err != nil {
			return err
		}
		if _, err := traffic.Update(ctx); err != nil {
			return err
		}
	}
	for _, level := range []rollup.Level{rollup.Daily, rollup.Yearly} {
		stats, err := traffic.Stats(ctx, level, "/", traffic.Start(level, start), start.AddDate(0, 0, 7))
		if err != nil {
			return err
		}
		for _, s := range stats {
			fmt.Fprintln(out, level, s.ID.Start.Format(time.DateOnly), s.Value.Total,
				"bytes in", s.Value.Count, "answers")
		}
	}
	return demo.Check(ctx, out, "rollup", traffic)
}
