package topic

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// The order of a capped collection is that in which messages were stored, which is the order in
// which they are delivered. The timestamps follow it but for messages that are published at the
// same moment. So a place is found again by its message: a cursor is opened at a time shortly
// before it, and what it has up to the message is thrown away.

// skew is how much earlier than its neighbours the timestamp of a message may be: it is taken when
// the server begins with the insert.
const skew = 60

// pause is how long a tail rests before it looks again at a collection that has no messages, or no
// server.
const pause = 100 * time.Millisecond

// tail follows a capped collection.
type tail struct {
	topics *Topics
	cond   bson.D
	pos    Position
	cursor *mongo.Cursor
	seek   bool // messages up to that of pos are thrown away
}

// openTail finds the place where a subscriber begins.
func (t *Topics) openTail(ctx context.Context, in Interest) (source, error) {
	s := &tail{topics: t, cond: in.condition()}
	switch in.From.kind {
	case fromPosition:
		s.pos = in.From.pos
	case fromFirst:
		return s, nil
	default:
		last, err := t.newest(ctx) // what is published from here on is behind it
		if err != nil {
			return nil, err
		}
		var first *Message
		if in.From.kind == fromTime {
			since := bson.D{{"at", bson.D{{"$gte", in.From.time}}}, {"$and", bson.A{s.cond}}}
			if first, err = t.one(ctx, since, bson.D{{"$natural", 1}}); err != nil {
				return nil, err
			}
		}
		switch {
		case first != nil:
			s.pos = first.Position()
			s.pos.p.With = true
		case last != nil:
			s.pos = last.Position()
		}
	}
	return s, nil
}

func (s *tail) here() Position { return s.pos }

func (s *tail) passed(m *Message) {
	if s.cursor != nil && !s.seek {
		s.pos = m.Position()
	}
}

func (s *tail) close(ctx context.Context) {
	if s.cursor != nil {
		_ = s.cursor.Close(context.WithoutCancel(ctx)) // it is of no use any more either way
		s.cursor = nil
	}
}

// next implements source.
func (s *tail) next(ctx context.Context) (*Message, error) {
	if s.cursor == nil {
		if err := s.open(ctx); err != nil {
			return nil, err
		}
	}
	for s.cursor.TryNext(ctx) {
		m := &Message{}
		if err := s.cursor.Decode(m); err != nil {
			return nil, fmt.Errorf("topic: decode a message: %w", err)
		}
		if s.seek {
			s.seek = m.ID != s.pos.p.ID
			if s.seek || !s.pos.p.With {
				continue
			}
		}
		s.pos = m.Position()
		return m, nil
	}
	return nil, s.interrupted(ctx)
}

// open opens a cursor at the place.
func (s *tail) open(ctx context.Context) error {
	cond := s.cond
	if s.seek = !s.pos.IsZero(); s.seek {
		if err := s.there(ctx); err != nil {
			return err
		}
		from := s.pos.p.Seq
		from.T -= min(skew, from.T)
		own := bson.D{{"_id", s.pos.p.ID}}
		cond = bson.D{
			{"seq", bson.D{{"$gte", from}}}, {"$or", bson.A{own, s.cond}},
		}
	}
	opts := options.Find().SetCursorType(options.TailableAwait).SetMaxAwaitTime(s.topics.cfg.Await)
	cursor, err := s.topics.coll.Find(ctx, cond, opts)
	if err != nil {
		return fmt.Errorf("topic: follow %s: %w", s.topics.cfg.Name, err)
	}
	s.cursor = cursor
	return nil
}

// there fails where the message of the place is overwritten.
func (s *tail) there(ctx context.Context) error {
	m, err := s.topics.one(ctx, bson.D{{"_id", s.pos.p.ID}}, bson.D{})
	if err != nil || m != nil {
		return err
	}
	return s.topics.overrun(ctx, s.pos)
}

// overrun returns the error of a subscriber that was at a place which is overwritten.
func (t *Topics) overrun(ctx context.Context, after Position) error {
	e := &OverrunError{After: after}
	oldest, err := t.oldest(ctx)
	if err != nil {
		return errors.Join(e, err)
	}
	if oldest != nil {
		e.Oldest = oldest.Position()
	}
	t.env.Metrics.Add("topic.overrun", 1)
	t.env.Logger.Warn("messages were lost to a subscriber that was too slow", "after",
		after.At(), "oldest", e.Oldest.At())
	return e
}

// cappedPositionLost is the code of a cursor that was overtaken.
const cappedPositionLost = 136

// interrupted tells why a cursor has no message, and closes one that will never have any.
func (s *tail) interrupted(ctx context.Context) error {
	err := s.cursor.Err()
	if err == nil && s.cursor.ID() != 0 {
		if s.seek { // it has come to the end without its place
			return s.there(ctx)
		}
		return nil
	}
	s.close(ctx)
	var server mongo.ServerError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &server) && server.HasErrorCode(cappedPositionLost):
		return s.topics.overrun(ctx, s.pos)
	case err != nil:
		s.topics.env.Logger.Warn("a topic is followed anew", "error", err)
	}
	return s.topics.env.Clock.Sleep(ctx, pause)
}
