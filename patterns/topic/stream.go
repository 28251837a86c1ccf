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

// Error codes of change streams.
const (
	noChangeStreams         = 40573
	changeStreamHistoryLost = 286
)

// stream reads the messages of an ordinary collection from a change stream.
type stream struct {
	topics *Topics
	in     Interest
	pos    Position
	stream *mongo.ChangeStream // nil if the stream must be opened again
}

// openStream opens a change stream at the start position of a subscriber.
func (t *Topics) openStream(ctx context.Context, in Interest) (source, error) {
	s := &stream{topics: t, in: in}
	if in.From.kind == fromPosition {
		if s.pos = in.From.pos; len(s.pos.p.Token) == 0 {
			return nil, fmt.Errorf("%w of a change stream", ErrPosition)
		}
	}
	if in.From.kind == fromNow {
		last, err := t.newest(ctx)
		if err != nil {
			return nil, err
		}
		if last != nil {
			s.pos = last.Position()
		}
	}
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	if in.From.kind == fromTime && s.pos.p.Token == nil { // the stream begins shortly before the start time
		s.pos.p.At = in.From.time
	}
	return s, nil
}

// open opens a change stream after the last delivered message.
func (s *stream) open(ctx context.Context) error {
	if s.pos.p.Token != nil || s.in.From.kind != fromFirst {
		return s.watch(ctx, nil)
	}
	first, err := s.topics.oldest(ctx)
	if err != nil {
		return err
	}
	if err := s.watch(ctx, first); err != nil || first != nil {
		return err
	}
	// The collection was empty. A message published before the stream was open is not in the
	// stream, so look for one again.
	if first, err = s.topics.oldest(ctx); err != nil || first == nil {
		return err
	}
	s.close(ctx)
	s.pos = Position{}
	return s.watch(ctx, first)
}

// watch opens a change stream. first is the message with which the stream begins, or nil.
func (s *stream) watch(ctx context.Context, first *Message) (err error) {
	opts := options.ChangeStream().SetMaxAwaitTime(s.topics.cfg.Await)
	switch {
	case s.pos.p.Token != nil:
		opts.SetResumeAfter(s.pos.p.Token)
	case s.in.From.kind == fromFirst && first != nil:
		// The change event of a message has the message's timestamp as its time, or a later time.
		opts.SetStartAtOperationTime(&first.Seq)
	case s.in.From.kind == fromTime:
		// The server's clock may differ from the publishers' clocks, so the stream begins earlier.
		// The subscription skips the messages published before the start time.
		opts.SetStartAtOperationTime(&bson.Timestamp{T: uint32(max(s.in.From.time.Unix()-skew, 1))})
	}
	if s.stream, err = s.topics.coll.Watch(ctx, wanted(s.in.condition()), opts); err != nil {
		return s.failed(ctx, err)
	}
	if token := s.stream.ResumeToken(); token != nil {
		s.pos.p.Token = token
	}
	return nil
}

// wanted returns the pipeline that keeps the inserts of messages that satisfy a condition. It
// replaces each event by the inserted document, with the _id of the event, which is its resume
// token.
func wanted(cond bson.D) mongo.Pipeline {
	return mongo.Pipeline{
		{{"$match", bson.D{{"operationType", "insert"}}}},
		{{"$replaceWith", bson.D{{"$mergeObjects", bson.A{
			"$fullDocument", bson.D{{"_id", "$_id"}, {"id", "$fullDocument._id"}},
		}}}}},
		{{"$match", cond}},
	}
}

func (s *stream) here() Position { return s.pos }

func (s *stream) passed(m *Message) {
	s.pos.p.ID, s.pos.p.At, s.pos.p.Seq = m.ID, m.At, m.Seq
}

func (s *stream) close(ctx context.Context) {
	if s.stream != nil {
		_ = s.stream.Close(context.WithoutCancel(ctx)) // an error does not matter: the stream is not used any more
		s.stream = nil
	}
}

// next implements source. The driver reopens a stream that the server has interrupted, but not a
// stream whose context has ended.
func (s *stream) next(ctx context.Context) (*Message, error) {
	if s.stream == nil {
		if err := s.open(ctx); err != nil {
			return nil, err
		}
	}
	if !s.stream.TryNext(ctx) {
		if err := s.stream.Err(); err != nil {
			s.close(ctx)
			return nil, s.failed(ctx, err)
		}
		if token := s.stream.ResumeToken(); token != nil {
			s.pos.p.Token = token
		}
		return nil, nil
	}
	var event struct {
		Place bson.Raw       `bson:"_id"`
		ID    string         `bson:"id"`
		Topic string         `bson:"topic"`
		At    time.Time      `bson:"at"`
		Seq   bson.Timestamp `bson:"seq"`
		Data  bson.RawValue  `bson:"data"`
	}
	if err := s.stream.Decode(&event); err != nil {
		return nil, fmt.Errorf("topic: decode a message: %w", err)
	}
	m := &Message{ID: event.ID, Topic: event.Topic, At: event.At, Seq: event.Seq, Data: event.Data, token: event.Place}
	s.pos = m.Position()
	return m, nil
}

// failed translates an error of a change stream.
func (s *stream) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	// the deadline is so near that the driver does not send the command
	if _, limited := ctx.Deadline(); limited && mongo.IsTimeout(err) {
		return errors.Join(context.DeadlineExceeded, err)
	}
	var server mongo.ServerError
	if errors.As(err, &server) {
		switch {
		case server.HasErrorCode(changeStreamHistoryLost):
			return errors.Join(s.topics.overrun(ctx, s.pos), err)
		case server.HasErrorCode(noChangeStreams):
			return errors.Join(ErrNoStreams, err)
		}
	}
	return fmt.Errorf("topic: follow %s: %w", s.topics.cfg.Name, err)
}
