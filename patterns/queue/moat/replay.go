package moat

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns/lock"
)

// lockName is the name of the replayer's lock.
const lockName = "replay"

// maxBatch is the largest number of writes in one batch.
const maxBatch = 100

// Run applies writes to the remote deployment until ctx ends. Any number of processes may call it:
// one of them does the work, and another one takes over when its lease ends.
func (m *Moat) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		err := m.locks.Do(ctx, lockName, m.replay)
		if err != nil && !errors.Is(err, lock.ErrHeld) && ctx.Err() == nil {
			m.env.Logger.Error("the replay of writes was interrupted", "error", err)
		}
		_ = m.env.Clock.Sleep(ctx, m.cfg.Pace) // Sleep returns early when ctx ends
	}
	return ctx.Err()
}

// Replay applies the writes that are waiting now. It returns ErrAway if the remote deployment does
// not answer, and lock.ErrHeld if another process is replaying.
func (m *Moat) Replay(ctx context.Context) error {
	return m.locks.Do(ctx, lockName, func(ctx context.Context, lease *lock.Lease) error {
		for {
			if n, err := m.some(ctx, lease.Token()); n < maxBatch || err != nil {
				return err
			}
		}
	})
}

// replay applies writes as long as the lease lasts.
func (m *Moat) replay(ctx context.Context, lease *lock.Lease) error {
	for ctx.Err() == nil {
		n, err := m.some(ctx, lease.Token())
		switch {
		case errors.Is(err, ErrAway):
			if !m.away.Swap(true) {
				m.env.Logger.Warn("the remote deployment is away", "error", err)
			}
			_ = m.env.Clock.Sleep(ctx, m.cfg.Pace) // Sleep returns early when ctx ends
		case err != nil:
			return err
		case n == 0:
			m.wait(ctx)
		default:
			if m.away.Swap(false) {
				m.env.Logger.Info("the remote deployment is back")
			}
		}
	}
	return ctx.Err()
}

// wait returns when there may be a new write.
func (m *Moat) wait(ctx context.Context) {
	sleep, cancel := context.WithCancel(ctx)
	defer cancel()
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = m.env.Clock.Sleep(sleep, m.cfg.Pace) // Sleep returns early when the context ends
	}()
	select {
	case <-m.kick:
	case <-over:
	}
}

// some applies the first batch of waiting writes, and returns the number of writes in it.
func (m *Moat) some(ctx context.Context, token int64) (int, error) {
	if err := m.ready(ctx); err != nil {
		return 0, err
	}
	field, err := m.marks(ctx)
	if err != nil {
		return 0, err
	}
	opts := options.Find().SetSort(order).SetLimit(maxBatch)
	found, err := m.coll.Find(ctx, bson.D{{"state", Waiting}}, opts)
	if err != nil {
		return 0, fmt.Errorf("moat: look for writes: %w", err)
	}
	var writes []Write
	if err := found.All(ctx, &writes); err != nil {
		return 0, fmt.Errorf("moat: read writes: %w", err)
	}
	for rest := writes; len(rest) > 0; {
		batch := together(rest)
		rest = rest[len(batch):]
		if err := m.make(ctx, batch, lease{field: field, token: token}); err != nil {
			return 0, err
		}
	}
	return len(writes), nil
}

var order = bson.D{{"seq", 1}, {"_id", 1}}

// together returns the first writes that one command may apply: they belong to one collection and
// change different documents. If the process dies before the moat has recorded them, the mark of
// each document shows whether its write was applied, because no later write of the document was in
// the same command.
func together(writes []Write) []Write {
	seen := make(map[string]bool)
	for i, w := range writes {
		key := string(w.Document.Type) + string(w.Document.Value)
		if seen[key] || w.Collection != writes[0].Collection {
			return writes[:i]
		}
		seen[key] = true
	}
	return writes
}

// make applies writes and records the result in the moat.
func (m *Moat) make(ctx context.Context, batch []Write, by lease) error {
	rejected, err := m.apply(ctx, batch, by)
	if err != nil {
		return err
	}
	ids := bson.A{}
	for _, w := range batch {
		if why, bad := rejected[w.ID]; bad {
			if err := m.reject(ctx, w, why); err != nil {
				return err
			}
			continue
		}
		ids = append(ids, w.ID)
	}
	done := bson.D{
		{"$set", bson.D{{"state", Made}, {"expires", m.env.Now().Add(m.cfg.Keep)}}},
		{"$unset", bson.D{{"data", ""}}},
	}
	if _, err := m.coll.UpdateMany(ctx, bson.D{{"_id", bson.D{{"$in", ids}}}}, done); err != nil {
		return fmt.Errorf("moat: say that writes were made: %w", err)
	}
	m.env.Metrics.Add("moat.made", int64(len(ids)))
	return nil
}

// reject records that a write was rejected.
func (m *Moat) reject(ctx context.Context, w Write, why string) error {
	set := bson.D{{"state", Rejected}, {"error", why}}
	if _, err := m.coll.UpdateOne(ctx, bson.D{{"_id", w.ID}}, bson.D{{"$set", set}}); err != nil {
		return fmt.Errorf("moat: reject write %s: %w", w.ID.Hex(), err)
	}
	m.env.Metrics.Add("moat.rejected", 1)
	m.env.Logger.Warn("a write was rejected", "write", w.ID.Hex(), "collection", w.Collection, "op", w.Op, "error", why)
	return nil
}
