package pebble

import (
	"io"

	"github.com/cockroachdb/pebble/v2"

	"github.com/sheafdb/sheaf/internal/storage"
)

// counterMergerName is stored in the files. A different merger needs a different name and a
// migration.
const counterMergerName = "sheaf.counter.v1"

// counterMerger returns the merger for counters: operands are encoded counters, and merging adds
// them.
func counterMerger() *pebble.Merger {
	return &pebble.Merger{
		Name: counterMergerName,
		Merge: func(_, value []byte) (pebble.ValueMerger, error) {
			m := new(counterSum)
			return m, m.MergeNewer(value)
		},
	}
}

// counterSum implements pebble.ValueMerger.
type counterSum struct{ sum storage.Counter }

// MergeNewer implements pebble.ValueMerger.
func (m *counterSum) MergeNewer(value []byte) error {
	c, err := storage.DecodeCounter(value)
	m.sum = m.sum.Plus(c)
	return err
}

// MergeOlder implements pebble.ValueMerger: the order does not matter.
func (m *counterSum) MergeOlder(value []byte) error { return m.MergeNewer(value) }

// Finish implements pebble.ValueMerger.
func (m *counterSum) Finish(bool) ([]byte, io.Closer, error) { return m.sum.Append(nil), nil, nil }
