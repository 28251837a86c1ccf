package hits

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// The defaults of WriterConfig.
const (
	DefaultInterval   = time.Second
	DefaultMaxPending = 100_000
)

// lastFlush is the timeout of the flush at the end of Run, after Run's own context has ended.
const lastFlush = 10 * time.Second

// WriterConfig configures a Writer. The zero value works.
type WriterConfig struct {
	// Interval is the time between two flushes of Run; DefaultInterval if zero.
	Interval time.Duration
	// MaxPending is the largest number of waiting hits; DefaultMaxPending if zero. When half as
	// many are waiting, Run flushes at once.
	MaxPending int64
}

// Writer collects hits in memory and adds them together: one increment for each minute of a page,
// however many hits it had. It is safe for concurrent use.
type Writer struct {
	c   *Counters
	cfg WriterConfig
	id  string

	flushing sync.Mutex // guards unsure and seq
	unsure   batch      // the batch with number seq, which is being sent, or whose reply was lost
	seq      int64

	mu      sync.Mutex // guards the fields below
	pending batch
	waiting int64 // number of hits in pending and unsure
	hurry   chan struct{}
}

// NewWriter returns a writer. Call Run in a goroutine, or Flush from time to time.
func (c *Counters) NewWriter(cfg WriterConfig) (*Writer, error) {
	if cfg.Interval < 0 || cfg.MaxPending < 0 {
		return nil, fmt.Errorf("hits: a writer with interval %v and %d pending hits", cfg.Interval, cfg.MaxPending)
	}
	if cfg.Interval == 0 {
		cfg.Interval = DefaultInterval
	}
	if cfg.MaxPending == 0 {
		cfg.MaxPending = DefaultMaxPending
	}
	return &Writer{c: c, cfg: cfg, id: bson.NewObjectID().Hex(), pending: batch{}, hurry: make(chan struct{}, 1)}, nil
}

// Hit adds a hit to the waiting hits. It does not wait for the database. It returns ErrFull, and
// does not count the hit, if MaxPending hits are waiting because the database has not answered for
// a long time.
func (w *Writer) Hit(h Hit) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting+max(h.N, 1) > w.cfg.MaxPending {
		w.c.env.Metrics.Add("hits.dropped", max(h.N, 1))
		return ErrFull
	}
	n, err := w.c.note(w.pending, h)
	if err != nil {
		return err
	}
	w.waiting += n
	if w.waiting >= w.cfg.MaxPending/2 {
		select {
		case w.hurry <- struct{}{}:
		default: // Run has already been told
		}
	}
	return nil
}

// Waiting returns the number of hits that may not be written yet, which is the largest number that
// a crash can lose.
func (w *Writer) Waiting() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.waiting
}

// Run flushes until ctx ends, and then once more. It logs a flush that fails; the next flush writes
// the same hits.
func (w *Writer) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		w.wait(ctx)
		if ctx.Err() == nil {
			w.try(ctx)
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlush)
	defer cancel()
	return w.Flush(last)
}

// wait returns after the interval, when ctx ends, or when many hits are waiting.
func (w *Writer) wait(ctx context.Context) {
	sleep, wake := context.WithCancel(ctx)
	defer wake()
	go func() {
		select {
		case <-w.hurry:
			wake()
		case <-sleep.Done():
		}
	}()
	_ = w.c.env.Clock.Sleep(sleep, w.cfg.Interval) // an error means that hits are waiting or ctx has ended
}

func (w *Writer) try(ctx context.Context) {
	started := w.c.env.Clock.Now()
	if err := w.Flush(ctx); err != nil {
		w.c.env.Logger.Warn("hits were not written; they are kept", "waiting", w.Waiting(), "error", err)
	}
	w.c.env.Metrics.Observe("hits.flush", w.c.env.Clock.Now().Sub(started))
}

// Flush writes the waiting hits. After an error it keeps them, and the next Flush tries again. No
// hit is counted twice, even if the server had executed an update whose reply was lost.
func (w *Writer) Flush(ctx context.Context) error {
	w.flushing.Lock()
	defer w.flushing.Unlock()
	if len(w.unsure) > 0 {
		if err := w.write(ctx); err != nil {
			return err
		}
	}
	w.mu.Lock()
	w.unsure, w.pending = w.pending, batch{}
	w.mu.Unlock()
	w.seq++
	return w.write(ctx)
}

// write applies the batch in unsure.
func (w *Writer) write(ctx context.Context) error {
	if len(w.unsure) == 0 {
		return nil
	}
	if err := w.c.apply(ctx, w.unsure, w.id, w.seq); err != nil {
		return err
	}
	var written int64
	for _, minutes := range w.unsure {
		for _, n := range minutes {
			written += n
		}
	}
	w.unsure = nil
	w.mu.Lock()
	w.waiting -= written
	w.mu.Unlock()
	w.c.env.Metrics.Add("hits.written", written)
	return nil
}

// apply adds a writer's batch, even if part of it was added before: each document holds the number
// of the last batch of each writer. apply first updates the existing documents. If some did not
// match, it creates the missing documents and tries again. A document that still does not match
// already has the batch.
func (c *Counters) apply(ctx context.Context, b batch, writer string, seq int64) error {
	if err := c.ready(ctx); err != nil {
		return err
	}
	has := "writers." + writer
	var models, missing []mongo.WriteModel
	for key, minutes := range b {
		day := c.day(key)
		change := bson.D{
			{"$inc", c.increments(minutes)},
			{"$set", bson.D{{has, seq}}},
		}
		without := append(day[:len(day):len(day)], bson.E{has, bson.D{{"$not", bson.D{{"$gte", seq}}}}})
		models = append(models, mongo.NewUpdateOneModel().SetFilter(without).SetUpdate(change))
		empty := bson.D{{"$setOnInsert", bson.D{{"daily", int64(0)}}}}
		missing = append(missing, mongo.NewUpdateOneModel().SetFilter(day).SetUpdate(empty).SetUpsert(true))
	}
	unordered := options.BulkWrite().SetOrdered(false)
	res, err := c.daily.BulkWrite(ctx, models, unordered)
	if err == nil && res.MatchedCount < int64(len(models)) {
		if err := patterns.Upsert(ctx, c.daily, missing); err != nil {
			return fmt.Errorf("hits: make the documents of days: %w", err)
		}
		_, err = c.daily.BulkWrite(ctx, models, unordered)
	}
	if err != nil {
		return fmt.Errorf("hits: count in %s: %w", c.daily.Name(), err)
	}
	c.prefill(ctx, b)
	return c.raise(ctx, b)
}
