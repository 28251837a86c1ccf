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

// Codes of change streams.
const (
	noChangeStreams         = 40573
	changeStreamHistoryLost = 286
)

// stream follows an ordinary collection.
type stream struct {
	topics *Topics
	in     Interest
	pos    Position
	stream *mongo.ChangeStream // nil where it has to be opened again
}

// openStream opens a change stream at the place where a subscriber begins.
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
	if in.From.kind == fromTime && s.pos.p.Token == nil { // the stream begins with changes of then
		s.pos.p.At = in.From.time
	}
	return s, nil
}

// open opens a change stream behind what was delivered.
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
	// There was none. One that was published before the stream was open is not in it.
	if first, err = s.topics.oldest(ctx); err != nil || first == nil {
		return err
	}
	s.close(ctx)
	s.pos = Position{}
	return s.watch(ctx, first)
}

// watch opens a change stream; first is the oldest message of one that begins with it.
func (s *stream) watch(ctx context.Context, first *Message) (err error) {
	opts := options.ChangeStream().SetMaxAwaitTime(s.topics.cfg.Await)
	switch {
	case s.pos.p.Token != nil:
		opts.SetResumeAfter(s.pos.p.Token)
	case s.in.From.kind == fromFirst && first != nil:
		// A message is in the log of changes at the time that it has as its timestamp, or later.
		opts.SetStartAtOperationTime(&first.Seq)
	case s.in.From.kind == fromTime:
		// The clock of the server may be another one; what was published before is left out later.
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

// wanted is the pipeline of the messages that satisfy a condition: of inserts, the documents in
// place of the events, but with the events' _id, which are their places.
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
		_ = s.stream.Close(context.WithoutCancel(ctx)) // it is of no use any more either way
		s.stream = nil
	}
}

// next implements source. The driver opens a stream again that was interrupted by the server, but
// not one whose context has ended.
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

// failed says what the error of a change stream means.
func (s *stream) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if _, limited := ctx.Deadline(); limited && mongo.IsTimeout(err) { // it is so near that the driver does not try
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
