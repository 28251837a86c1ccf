package eventlog_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/patterns/eventlog"
)

const accessLog = `127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326 "http://example.com/start.html" "Mozilla/4.08 [en] (Win98; I ;Nav)"
127.0.0.1 - - [10/Oct/2000:13:55:37 -0700] "GET /favicon.ico HTTP/1.0" 404 -
not a line of a log
10.1.2.3 - - [11/Oct/2000:08:00:00 +0200] "GET /apache_pb.gif HTTP/1.1" 304 0 "-" "curl/8.5.0"
`

// An access log is read into the database, and its requests are counted for each day.
func Example() {
	ctx := context.Background()
	store, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	db := store.Client().Database("logs")

	events, err := eventlog.New(db, eventlog.Config{})
	if err != nil {
		log.Fatal(err)
	}
	var batch []*eventlog.Event
	for e, err := range eventlog.Parse(strings.NewReader(accessLog)) {
		if err != nil {
			fmt.Println(err)
			continue
		}
		batch = append(batch, e)
	}
	if err := events.Append(ctx, eventlog.Journaled, batch...); err != nil {
		log.Fatal(err)
	}
	counts, err := events.CountByDay(ctx, eventlog.Query{})
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range counts {
		fmt.Println(c.Day.Format(time.DateOnly), c.Path, c.N)
	}
	for e, err := range events.Find(ctx, eventlog.Query{Host: "127.0.0.1", Limit: 1}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.User, e.Time.Format(time.TimeOnly), e.Status, e.Size)
	}
	// Output:
	// line 3: eventlog: not a line of an access log
	// 2000-10-10 /apache_pb.gif 1
	// 2000-10-10 /favicon.ico 1
	// 2000-10-11 /apache_pb.gif 1
	// frank 20:55:36 200 2326
}

// Events are kept for a week, in one collection for each day.
func ExampleCollections() {
	ctx := context.Background()
	db, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	const day = 24 * time.Hour
	events, err := eventlog.New(db.Client().Database("logs"),
		eventlog.Config{Retention: eventlog.Collections{Period: day, Keep: 7 * day}})
	if err != nil {
		log.Fatal(err)
	}
	if err := events.EnsureIndexes(ctx); err != nil {
		log.Fatal(err)
	}
	now := time.Now()
	for _, age := range []time.Duration{0, 3 * day, 30 * day} {
		err := events.Append(ctx, eventlog.Acknowledged, &eventlog.Event{Time: now.Add(-age), Path: "/"})
		switch {
		case errors.Is(err, eventlog.ErrTooOld):
			fmt.Println("too old:", age)
		case err != nil:
			log.Fatal(err)
		}
	}
	// Output: too old: 720h0m0s
}
