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

// A capped collection returns its messages in the order in which they were stored, and subscribers
// receive them in this order. The timestamps have the same order, except for messages published at
// the same moment. A position is therefore found by its message: the cursor begins shortly before
// the message's timestamp, and the tail discards everything up to that message.

// skew is the time by which a message's timestamp may be earlier than the timestamps stored before
// it, in seconds. The server takes the timestamp when it begins the insert.
const skew = 60

// pause is the wait before a tail queries again after its cursor has ended: the collection is
// empty, or the server is down.
const pause = 100 * time.Millisecond

// tail reads the messages of a capped collection from a tailable cursor.
type tail struct {
	topics *Topics
	cond   bson.D
	pos    Position
	cursor *mongo.Cursor
	seek   bool // discard messages up to the message of pos
}

// openTail finds the start position of a subscriber.
func (t *Topics) openTail(ctx context.Context, in Interest) (source, error) {
	s := &tail{topics: t, cond: in.condition()}
	switch in.From.kind {
	case fromPosition:
		s.pos = in.From.pos
	case fromFirst:
		return s, nil
	default:
		last, err := t.newest(ctx) // messages published from now on follow it
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
		_ = s.cursor.Close(context.WithoutCancel(ctx)) // an error does not matter: the cursor is not used any more
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

// open opens a cursor at the position.
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

// there fails if the message of the position has been overwritten.
func (s *tail) there(ctx context.Context) error {
	m, err := s.topics.one(ctx, bson.D{{"_id", s.pos.p.ID}}, bson.D{})
	if err != nil || m != nil {
		return err
	}
	return s.topics.overrun(ctx, s.pos)
}

// overrun returns the error for a subscriber whose position has been overwritten.
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

// cappedPositionLost is the error code of a tailable cursor whose position has been overwritten.
const cappedPositionLost = 136

// interrupted finds out why a cursor has no message, and closes a cursor that cannot return any
// more messages.
func (s *tail) interrupted(ctx context.Context) error {
	err := s.cursor.Err()
	if err == nil && s.cursor.ID() != 0 {
		if s.seek { // the cursor has reached the end without finding the message of the position
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
