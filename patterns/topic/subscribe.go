package topic

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Interest says which messages a subscriber wants. The zero value is all from now on.
type Interest struct {
	// Topics are names, or beginnings of names followed by a star: "ticker.*". All topics if empty.
	Topics []string
	// Filter is any condition of topic, at and data: bson.D{{"data.price", bson.D{{"$gt", 100}}}}.
	Filter bson.D
	// From is where to begin: Now if zero.
	From Start
}

// Start is where a subscriber begins.
type Start struct {
	kind startKind
	time time.Time
	pos  Position
}

type startKind int

const (
	fromNow startKind = iota
	fromFirst
	fromTime
	fromPosition
)

// Now is behind all messages that are there.
func Now() Start { return Start{} }

// Beginning is before the oldest message that is there.
func Beginning() Start { return Start{kind: fromFirst} }

// Since is before the first message that was published at a time or later.
func Since(t time.Time) Start { return Start{kind: fromTime, time: t.Truncate(time.Millisecond)} }

// After is behind a place.
func After(p Position) Start {
	switch {
	case p.IsZero():
		return Beginning()
	case !p.exact():
		return Since(p.p.At)
	}
	return Start{kind: fromPosition, pos: p}
}

// condition is what messages must satisfy.
func (in *Interest) condition() bson.D {
	cond := bson.D{}
	if len(in.Topics) > 0 {
		names := bson.A{}
		for _, name := range in.Topics {
			if begin, ok := strings.CutSuffix(name, "*"); ok {
				names = append(names, bson.Regex{Pattern: "^" + regexp.QuoteMeta(begin)})
			} else {
				names = append(names, name)
			}
		}
		cond = append(cond, bson.E{"topic", bson.D{{"$in", names}}})
	}
	if len(in.Filter) > 0 {
		cond = append(cond, bson.E{"$and", bson.A{in.Filter}})
	}
	return cond
}

// source is where messages come from.
type source interface {
	// next returns the next message, or nil if there is none for a while.
	next(ctx context.Context) (*Message, error)
	// here returns the place behind what was delivered.
	here() Position
	// passed says, when next has returned nil, that everything up to a message has been looked at.
	passed(m *Message)
	close(ctx context.Context)
}

// Subscription delivers messages. It is not safe for concurrent use.
type Subscription struct {
	topics *Topics
	src    source
	asked  time.Time // when it was asked which message is the newest
	since  time.Time // messages are delivered from the first one on that is not older
}

// idleTime is how often a subscriber without messages asks where the others are.
const idleTime = 10 * time.Second

// Subscribe begins to deliver messages.
func (t *Topics) Subscribe(ctx context.Context, in Interest) (*Subscription, error) {
	if err := t.ready(ctx); err != nil {
		return nil, err
	}
	s := &Subscription{topics: t, asked: t.env.Now()}
	if in.From.kind == fromTime {
		s.since = in.From.time
	}
	var err error
	if t.cfg.Form == ByStream {
		s.src, err = t.openStream(ctx, in)
	} else {
		s.src, err = t.openTail(ctx, in)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Next returns the next message. It waits for one until ctx ends. It fails with an *OverrunError
// where messages were overwritten before they were seen; who wants to go on without them subscribes
// anew, from the Beginning. After other errors it may be called again.
func (s *Subscription) Next(ctx context.Context) (*Message, error) {
	for {
		m, err := s.poll(ctx)
		if m != nil || err != nil {
			return m, err
		}
	}
}

// poll is Next that returns nil where there is no message for a while.
func (s *Subscription) poll(ctx context.Context) (*Message, error) {
	if err := ctx.Err(); err != nil { // what a cursor has already it would deliver all the same
		return nil, err
	}
	newest, err := s.lookAhead(ctx)
	if err != nil {
		return nil, err
	}
	m, err := s.src.next(ctx)
	if err != nil {
		return nil, err
	}
	if m == nil {
		if newest != nil {
			s.src.passed(newest)
		}
		return nil, ctx.Err()
	}
	if !s.since.IsZero() && m.At.Before(s.since) {
		return nil, nil
	}
	s.since = time.Time{}
	s.topics.env.Metrics.Add("topic.delivered", 1)
	return m, nil
}

// lookAhead asks from time to time which message is the newest: a subscriber whose messages are
// rare would otherwise seem to be where the last of them was, which may have been overwritten long
// ago.
func (s *Subscription) lookAhead(ctx context.Context) (*Message, error) {
	now := s.topics.env.Now()
	if now.Sub(s.asked) < idleTime {
		return nil, nil
	}
	s.asked = now
	return s.topics.newest(ctx)
}

// All returns the messages until ctx ends or something fails.
func (s *Subscription) All(ctx context.Context) iter.Seq2[*Message, error] {
	return func(yield func(*Message, error) bool) {
		for {
			m, err := s.Next(ctx)
			if !yield(m, err) || err != nil {
				return
			}
		}
	}
}

// Position returns the place behind the last message that was delivered, or behind others that were
// not wanted.
func (s *Subscription) Position() Position { return s.src.here() }

// Lag tells how far the subscriber is behind: one find and one count of the index.
func (s *Subscription) Lag(ctx context.Context) (*Lag, error) { return s.topics.lag(ctx, s.src.here()) }

// Close ends the subscription.
func (s *Subscription) Close(ctx context.Context) { s.src.close(ctx) }

// Lag is how far a subscriber is behind the newest message.
type Lag struct {
	// Messages is how many it has not looked at, wanted or not.
	Messages int64
	// Time is how much later the newest message was published than the last one that it has looked
	// at.
	Time time.Duration
}

func (t *Topics) lag(ctx context.Context, p Position) (*Lag, error) {
	newest, err := t.newest(ctx)
	if err != nil || newest == nil {
		return &Lag{}, err
	}
	n, err := t.coll.CountDocuments(ctx, bson.D{{"seq", bson.D{{"$gt", p.p.Seq}}}})
	if err != nil {
		return nil, fmt.Errorf("topic: count the messages behind %v: %w", p.At(), err)
	}
	lag := &Lag{Messages: n}
	if n > 0 && !p.p.At.IsZero() {
		lag.Time = max(newest.At.Sub(p.p.At), 0)
	}
	return lag, nil
}

// newest returns the message that was published last; nil if there is none.
func (t *Topics) newest(ctx context.Context) (*Message, error) {
	return t.one(ctx, bson.D{}, bson.D{{t.order(), -1}})
}

// oldest returns the message that was published first of those that are there; nil where there is
// none.
func (t *Topics) oldest(ctx context.Context) (*Message, error) {
	return t.one(ctx, bson.D{}, bson.D{{t.order(), 1}})
}

// order is what messages are sorted by: a capped collection has them in their order.
func (t *Topics) order() string {
	if t.cfg.Form == ByTail {
		return "$natural"
	}
	return "seq"
}

func (t *Topics) one(ctx context.Context, filter, sort bson.D) (*Message, error) {
	m := &Message{}
	err := t.coll.FindOne(ctx, filter, options.FindOne().SetSort(sort)).Decode(m)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("topic: find a message of %s: %w", t.cfg.Name, err)
	}
	return m, nil
}
