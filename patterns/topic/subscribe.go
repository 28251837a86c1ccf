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

// Interest selects the messages that a subscriber receives. The zero value selects all messages
// from now on.
type Interest struct {
	// Topics lists names of topics, or prefixes followed by a star: "ticker.*". Empty means all
	// topics.
	Topics []string
	// Filter is a condition on the fields topic, at and data: bson.D{{"data.price", bson.D{{"$gt",
	// 100}}}}.
	Filter bson.D
	// From is the start position; Now if zero.
	From Start
}

// Start is the position at which a subscription begins.
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

// Now starts after all stored messages.
func Now() Start { return Start{} }

// Beginning starts before the oldest stored message.
func Beginning() Start { return Start{kind: fromFirst} }

// Since starts before the first message that was published at time t or later.
func Since(t time.Time) Start { return Start{kind: fromTime, time: t.Truncate(time.Millisecond)} }

// After starts after a position.
func After(p Position) Start {
	switch {
	case p.IsZero():
		return Beginning()
	case !p.exact():
		return Since(p.p.At)
	}
	return Start{kind: fromPosition, pos: p}
}

// condition returns the condition that the wanted messages satisfy.
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

// source delivers messages to a subscription.
type source interface {
	// next returns the next message, or nil if no message has come for a while.
	next(ctx context.Context) (*Message, error)
	// here returns the position after the last delivered message.
	here() Position
	// passed tells the source that there was no wanted message up to m. It is called after next has
	// returned nil.
	passed(m *Message)
	close(ctx context.Context)
}

// Subscription delivers messages. It is not safe for concurrent use.
type Subscription struct {
	topics *Topics
	src    source
	asked  time.Time // when the subscription last asked for the newest message
	since  time.Time // if not zero: skip all messages before the first one published at this time or later
}

// idleTime is the interval at which a subscription without messages asks for the newest message.
const idleTime = 10 * time.Second

// Subscribe starts a subscription. Call Next or All to receive its messages, and Close to end it.
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

// Next returns the next message. It waits for a message until ctx ends. It fails with an
// *OverrunError if messages were overwritten before they were received. To continue after that
// error, subscribe again from Beginning. After other errors, Next may be called again.
func (s *Subscription) Next(ctx context.Context) (*Message, error) {
	for {
		m, err := s.poll(ctx)
		if m != nil || err != nil {
			return m, err
		}
	}
}

// poll is like Next, but returns nil if no message comes for a while.
func (s *Subscription) poll(ctx context.Context) (*Message, error) {
	if err := ctx.Err(); err != nil { // a cursor would still deliver the messages that it has already fetched
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

// lookAhead asks from time to time for the newest message. Without it, a subscriber that receives
// few messages would keep the position of its last message, which may have been overwritten long
// ago.
func (s *Subscription) lookAhead(ctx context.Context) (*Message, error) {
	now := s.topics.env.Now()
	if now.Sub(s.asked) < idleTime {
		return nil, nil
	}
	s.asked = now
	return s.topics.newest(ctx)
}

// All yields the messages until ctx ends or an error occurs. It yields the error last.
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

// Position returns the position after the last message that the subscription has delivered or
// skipped.
func (s *Subscription) Position() Position { return s.src.here() }

// Lag returns how far the subscription is behind the newest message. It costs one find and one
// count of the index.
func (s *Subscription) Lag(ctx context.Context) (*Lag, error) { return s.topics.lag(ctx, s.src.here()) }

// Close ends the subscription.
func (s *Subscription) Close(ctx context.Context) { s.src.close(ctx) }

// Lag says how far a subscriber is behind the newest message.
type Lag struct {
	// Messages is the number of messages after the subscriber's position, including the ones that
	// it does not want.
	Messages int64
	// Time is the time between the message at the subscriber's position and the newest message, by
	// their publishers' clocks.
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

// newest returns the message that was stored last. It returns nil if no message is stored.
func (t *Topics) newest(ctx context.Context) (*Message, error) {
	return t.one(ctx, bson.D{}, bson.D{{t.order(), -1}})
}

// oldest returns the first of the messages that are still stored. It returns nil if no message is
// stored.
func (t *Topics) oldest(ctx context.Context) (*Message, error) {
	return t.one(ctx, bson.D{}, bson.D{{t.order(), 1}})
}

// order returns the sort key of the order of storing. A capped collection has its messages in this
// order.
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
