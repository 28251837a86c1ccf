package failover

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// Store remembers answers, outside of the deployment that they are from. It is safe for concurrent
// use.
type Store interface {
	// Load returns nil where it remembers nothing.
	Load(key string) ([]byte, error)
	Save(key string, answer []byte) error
}

// Cached is an answer.
type Cached[T any] struct {
	Value T `bson:"value"`
	// At is when it was read.
	At time.Time `bson:"at"`
	// Stale says that it was not read now: the deployment does not answer.
	Stale bool `bson:"-"`
}

// Answer reads a value, and remembers it by its key. Where no member of the deployment answers it
// returns what it remembers, of whatever age, and ErrEmergency where that is nothing. Values are
// stored as BSON.
func Answer[T any](ctx context.Context, f *Failover, key string,
	read func(ctx context.Context, db *mongo.Database) (T, error),
) (Cached[T], error) {
	answer := Cached[T]{At: f.env.Now()}
	failed := f.Read(ctx, func(ctx context.Context, db *mongo.Database) (err error) {
		answer.Value, err = read(ctx, db)
		return err
	})
	if failed == nil {
		if f.due(key, answer.At) {
			if err := save(f, key, answer); err != nil { // the answer is right all the same
				f.env.Logger.Error("an answer could not be remembered", "key", key, "error", err)
			}
		}
		return answer, nil
	}
	if !errors.Is(failed, ErrEmergency) {
		return Cached[T]{}, failed
	}
	stored, err := f.cfg.Store.Load(key)
	if err != nil {
		return Cached[T]{}, errors.Join(failed, err)
	}
	if stored == nil {
		return Cached[T]{}, failed
	}
	remembered := Cached[T]{}
	if err := bson.Unmarshal(stored, &remembered); err != nil {
		return Cached[T]{}, errors.Join(failed, fmt.Errorf("failover: what is remembered of %s: %w", key, err))
	}
	remembered.Stale = true
	f.env.Metrics.Add("failover.stale", 1)
	return remembered, nil
}

func save[T any](f *Failover, key string, answer Cached[T]) error {
	data, err := bson.Marshal(answer)
	if err != nil {
		return err
	}
	return f.cfg.Store.Save(key, data)
}

// maxDue bounds how many times Failover notes.
const maxDue = 10_000

// due reports whether an answer is to be remembered anew.
func (f *Failover) due(key string, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if last, known := f.kept[key]; known && now.Sub(last) < f.cfg.Refresh {
		return false
	}
	if len(f.kept) >= maxDue {
		clear(f.kept)
	}
	f.kept[key] = now
	return true
}

// Memory is a Store of the process: it forgets when the process ends, and the oldest where it is
// full.
type Memory struct {
	max int

	mu      sync.Mutex
	answers map[string][]byte
	order   []string // in which they were first saved
}

// NewMemory returns a store of up to max answers, 1,000 if zero.
func NewMemory(limit int) *Memory {
	if limit <= 0 {
		limit = 1000
	}
	return &Memory{max: limit, answers: map[string][]byte{}}
}

// Load implements Store.
func (m *Memory) Load(key string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.answers[key], nil
}

// Save implements Store.
func (m *Memory) Save(key string, answer []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.answers[key]; !known {
		if len(m.order) == m.max {
			delete(m.answers, m.order[0])
			m.order = m.order[1:]
		}
		m.order = append(m.order, key)
	}
	m.answers[key] = answer
	return nil
}

// Dir is a Store that outlasts the process: a directory with a file for each answer, which others
// may serve as it is.
type Dir string

func (d Dir) path(key string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(string(d), hex.EncodeToString(sum[:])+".bson")
}

// Load implements Store.
func (d Dir) Load(key string) ([]byte, error) {
	data, err := os.ReadFile(d.path(key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("failover: load an answer: %w", err)
	}
	return data, nil
}

// Save implements Store. Whoever loads it meanwhile sees the old answer or the new one.
func (d Dir) Save(key string, answer []byte) (err error) {
	file, err := os.CreateTemp(string(d), "new-*")
	if err != nil {
		return fmt.Errorf("failover: save an answer: %w", err)
	}
	_, err = file.Write(answer)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(file.Name(), d.path(key))
	}
	if err != nil {
		return fmt.Errorf("failover: save an answer: %w", errors.Join(err, os.Remove(file.Name())))
	}
	return nil
}
