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

// Store stores answers outside of the deployment from which they were read. It is safe for
// concurrent use.
type Store interface {
	// Load returns the answer of a key, or nil if the store has none.
	Load(key string) ([]byte, error)
	Save(key string, answer []byte) error
}

// Cached is the result of Answer: a value, its age, and whether it comes from the store.
type Cached[T any] struct {
	Value T `bson:"value"`
	// At is the time at which the value was read.
	At time.Time `bson:"at"`
	// Stale marks a value from the store: the deployment did not answer now.
	Stale bool `bson:"-"`
}

// Answer reads a value and stores it under the key. If no member of the deployment answers, it
// returns the stored value, however old it is. It returns ErrEmergency if there is no stored value.
// Values are stored as BSON.
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
			if err := save(f, key, answer); err != nil { // the answer is valid even if it could not be stored
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

// maxDue is the largest number of keys whose save times Failover remembers.
const maxDue = 10_000

// due reports whether the answer of a key should be stored again.
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

// Memory is a Store in the memory of the process. When it is full it drops the answer whose key was
// saved first. When the process ends, all answers are lost.
type Memory struct {
	max int

	mu      sync.Mutex
	answers map[string][]byte
	order   []string // the keys in the order in which they were first saved
}

// NewMemory returns a store for up to limit answers; 1,000 if limit is zero.
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

// Dir is a Store that survives the process: a directory with one file for each answer. Other
// programs may serve these files.
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

// Save implements Store. A concurrent Load sees the old answer or the new one.
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
