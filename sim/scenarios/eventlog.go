package scenarios

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/eventlog"
	"github.com/sheafdb/sheaf/sim/scenario"
)

func eventlogScenarios() []*scenario.Definition {
	return []*scenario.Definition{{
		Name: "eventlog", Group: "eventlog", Users: 300,
		Title: "Append requests of a web server to a log",
		Doc: `A user appends some events to the log: 1 unordered insert. The class says what the insert waits for. The retention says how old events are
removed: when a capped collection is full, by a TTL index, or with the collection of their minute.

  events: {_id, time: ISODate("…"), host: "10.0.0.7", method: "GET", path: "/page-7.html", protocol: "HTTP/1.1", status: 200, size: NumberLong(2326)}`,
		Params: []scenario.Param{
			whole("batch", "how many events are appended together", 10, 1, 10_000),
			choice("class", "how safe an event is when its append returns", "acknowledged", "sent", "journaled",
				"replicated", "replicatedJournaled"),
			choice("retention", "how old events are removed", "ttl", "capped", "collections"),
			whole("cappedSize", "how many bytes a capped log has", 1<<28, 4096, 0),
		},
		New: newLogging,
	}}
}

// logging implements the scenario eventlog.
type logging struct {
	still
	*eventlog.Log
	db     *mongo.Database
	batch  int
	class  eventlog.Class
	capped int64 // the size of the capped collection in bytes; 0 means not capped
}

func newLogging(env scenario.Env) (scenario.Scenario, error) {
	p := env.Params
	classes := map[string]eventlog.Class{
		"acknowledged": eventlog.Acknowledged, "sent": eventlog.Sent, "journaled": eventlog.Journaled,
		"replicated":          eventlog.Replicated,
		"replicatedJournaled": eventlog.ReplicatedJournaled,
	}
	s := &logging{db: env.DB, batch: p.Int("batch"), class: classes[p.String("class")]}
	const keep = 24 * time.Hour
	cfg := eventlog.Config{Env: env.Patterns, Retention: eventlog.TTL{Keep: keep}}
	switch p.String("retention") {
	case "capped":
		s.capped = int64(p.Int("cappedSize"))
		cfg.Retention = eventlog.Capped{Bytes: s.capped}
	case "collections":
		cfg.Retention = eventlog.Collections{Period: time.Minute, Keep: keep}
	default: // ttl
	}
	var err error
	s.Log, err = eventlog.New(env.DB, cfg)
	return s, err
}

// Setup implements scenario.Scenario.
func (s *logging) Setup(ctx context.Context) error { return s.EnsureIndexes(ctx) }

// Run implements scenario.Scenario.
func (s *logging) Run(ctx context.Context, u *scenario.User) error {
	events := make([]*eventlog.Event, s.batch)
	for i := range events {
		events[i] = &eventlog.Event{
			Time: u.Now().UTC(), Host: fmt.Sprintf("10.0.%d.%d", u.Rand.IntN(256), u.Rand.IntN(256)), Method: "GET",
			Path:     fmt.Sprintf("/page-%d.html", popular(u.Rand, 1000)),
			Protocol: "HTTP/1.1", Status: 200, Size: u.Rand.Int64N(100_000),
			UserAgent: "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36",
		}
	}
	if err := s.Append(ctx, s.class, events...); err != nil {
		return err
	}
	u.Count("appended", int64(s.batch))
	return nil
}

// Check implements scenario.Scenario.
func (s *logging) Check(ctx context.Context, t scenario.Tally) ([]patterns.Violation, error) {
	out, err := s.Log.Check(ctx)
	if err != nil || len(out) > 0 { // counting would fail on the events that are wrong
		return out, err
	}
	days, err := s.CountByDay(ctx, eventlog.Query{})
	if err != nil {
		return nil, err
	}
	var found int64
	for _, d := range days {
		found += d.N
	}
	appended := t.Counts["appended"]
	lost := s.class == eventlog.Sent // with the write concern Sent, events may be lost without an error
	if s.capped > 0 && found < appended {
		if lost, err = isFull(ctx, s.db.Collection("events"), s.capped); err != nil {
			return nil, err
		}
	}
	if lost {
		return append(out, counted("what was appended is there", "events", found, 0,
			appended+unsure(t, s.batch))...), nil
	}
	return append(out, counted("what was appended is there", "events", found, appended, unsure(t, s.batch))...), nil
}
