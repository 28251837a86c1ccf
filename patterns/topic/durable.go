package topic

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns/lock"
)

// Subscriber is a durable subscriber as it is stored.
type Subscriber struct {
	Name     string    `bson:"_id"`
	Position Position  `bson:"position"`
	Handled  int64     `bson:"handled"` // number of handled messages
	Updated  time.Time `bson:"updated"`
	Fence    int64     `bson:"fence"` // the token of the lease under which the document was written
}

// MarshalBSON implements bson.Marshaler.
func (p Position) MarshalBSON() ([]byte, error) { return bson.Marshal(p.p) }

// UnmarshalBSON implements bson.Unmarshaler.
func (p *Position) UnmarshalBSON(data []byte) error { return bson.Unmarshal(data, &p.p) }

// Handler handles a message. If it returns an error, the message will be delivered again.
type Handler func(ctx context.Context, m *Message) error

// Consume delivers messages to a durable subscriber, one after the other, until ctx ends or the
// handler fails. It stores the position after each handled message; the next call with this name
// continues there. in.From is the start of a new subscriber. Any number of processes may consume
// under the same name: one of them receives the messages, and another one takes over when its lease
// ends.
//
// Consume fails with an *OverrunError if messages were overwritten before the subscriber received
// them. Reset then moves the subscriber to another position.
func (t *Topics) Consume(ctx context.Context, name string, in Interest, handle Handler) error {
	var failed error
	once := func(ctx context.Context, m *Message) error {
		failed = handle(ctx, m)
		return failed
	}
	for {
		err := t.locks.Do(ctx, name, func(ctx context.Context, lease *lock.Lease) error {
			return t.consume(ctx, lease, name, in, once)
		})
		standby := errors.Is(err, lock.ErrLost) || errors.Is(err, lock.ErrHeld) && failed == nil
		if !standby {
			return err
		}
		if err := t.env.Clock.Sleep(ctx, t.cfg.Await); err != nil {
			return err
		}
		failed = nil
	}
}

// consume delivers messages as long as this process holds the lease.
func (t *Topics) consume(ctx context.Context, lease *lock.Lease, name string, in Interest, handle Handler) error {
	stored, err := t.Subscriber(ctx, name)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	if stored != nil {
		in.From = After(stored.Position)
	}
	sub, err := t.Subscribe(ctx, in)
	if err != nil {
		return err
	}
	defer sub.Close(ctx)
	last := sub.Position()
	// Store the position of a new subscriber now: the subscriber must find this position again even
	// if no message comes.
	if stored == nil {
		if err := t.store(ctx, lease, name, last, 0); err != nil {
			return err
		}
	}
	saved := t.env.Now()
	for {
		m, err := sub.poll(ctx)
		if err != nil {
			return err
		}
		handled := 0
		if m != nil {
			if err := handle(ctx, m); err != nil {
				return fmt.Errorf("topic: subscriber %s, message %s: %w", name, m.ID, err)
			}
			handled = 1
		}
		now, p := t.env.Now(), sub.Position()
		if handled > 0 || now.Sub(saved) >= idleTime && !p.equal(last) {
			if err := t.store(ctx, lease, name, p, handled); err != nil {
				return err
			}
			last, saved = p, now
		}
	}
}

// store stores the position of a subscriber, unless a later holder of the lease has already stored
// one. It stores the position of a handled message even if ctx has ended meanwhile.
func (t *Topics) store(ctx context.Context, lease *lock.Lease, name string, p Position, handled int) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.cfg.Lease)
	defer cancel()
	when, set := lease.Guard("fence")
	set = append(set, bson.E{"position", p}, bson.E{"updated", t.env.Now()})
	change := bson.D{{"$set", set}, {"$inc", bson.D{{"handled", int64(handled)}}}}
	_, err := t.subscribers.UpdateOne(ctx, append(bson.D{{"_id", name}}, when...), change,
		options.UpdateOne().SetUpsert(true))
	if mongo.IsDuplicateKeyError(err) {
		return lock.ErrLost
	}
	if err != nil {
		return fmt.Errorf("topic: store where subscriber %s is: %w", name, err)
	}
	return nil
}

// Subscriber returns a durable subscriber, or ErrNotFound.
func (t *Topics) Subscriber(ctx context.Context, name string) (*Subscriber, error) {
	s := &Subscriber{}
	err := t.subscribers.FindOne(ctx, bson.D{{"_id", name}}).Decode(s)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("topic: find subscriber %s: %w", name, err)
	}
	return s, nil
}

// Lag returns how far a durable subscriber is behind the newest message.
func (t *Topics) Lag(ctx context.Context, name string) (*Lag, error) {
	s, err := t.Subscriber(ctx, name)
	if err != nil {
		return nil, err
	}
	return t.lag(ctx, s.Position)
}

// Reset moves a durable subscriber to another position, for example past lost messages or back to
// repeat messages. It fails with lock.ErrHeld if a process consumes under this name.
func (t *Topics) Reset(ctx context.Context, name string, from Start) error {
	return t.locks.Do(ctx, name, func(ctx context.Context, lease *lock.Lease) error {
		sub, err := t.Subscribe(ctx, Interest{From: from})
		if err != nil {
			return err
		}
		defer sub.Close(ctx)
		return t.store(ctx, lease, name, sub.Position(), 0)
	})
}

// Forget removes a durable subscriber. It is not an error if the subscriber does not exist.
func (t *Topics) Forget(ctx context.Context, name string) error {
	if _, err := t.subscribers.DeleteOne(ctx, bson.D{{"_id", name}}); err != nil {
		return fmt.Errorf("topic: forget subscriber %s: %w", name, err)
	}
	return nil
}
