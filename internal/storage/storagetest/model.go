package storagetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/mem"
)

// Model runs random histories on engines that open returns and on the reference engine, and
// compares every result. disturb may be nil. Otherwise it does something to the engine that must
// not change any result, such as a compaction.
func Model(t *testing.T, open Open, disturb func(e storage.Engine) error) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &model{}
		m.engines[0] = mem.New()
		m.engines[1] = open(t)
		defer func() {
			m.endAll()
			for _, e := range m.engines {
				_ = e.Close()
			}
		}()
		actions := map[string]func(*rapid.T){
			"":            m.check,
			"begin":       m.begin,
			"end":         m.end,
			"write":       m.write,
			"writeMany":   m.writeMany,
			"read":        m.read,
			"walk":        m.walk,
			"snapshot":    m.snapshot,
			"deleteRange": m.deleteRange,
		}
		if disturb != nil {
			actions["disturb"] = func(rt *rapid.T) {
				if err := disturb(m.engines[1]); err != nil {
					rt.Fatalf("disturb: %v", err)
				}
			}
		}
		rt.Repeat(actions)
	})
}

const modelSlots = 3

// twin holds the same object of both engines.
type twin[T any] [2]T

// model is a history that runs on two engines. Transactions and snapshots have slots; nil is an
// empty slot.
type model struct {
	engines   twin[storage.Engine]
	txns      [modelSlots]*twin[storage.Txn]
	snapshots [modelSlots]*twin[storage.Snapshot]
}

var (
	modelKey     = rapid.Map(rapid.IntRange(0, 11), func(n int) string { return fmt.Sprintf("k%02d", n) })
	modelCounter = rapid.SampledFrom([]string{"n1", "n2"})
	modelSlot    = rapid.IntRange(0, modelSlots-1)
)

func (m *model) endAll() {
	for i, txn := range m.txns {
		if txn != nil {
			txn[0].Rollback()
			txn[1].Rollback()
		}
		if s := m.snapshots[i]; s != nil {
			_ = s[0].Close()
			_ = s[1].Close()
		}
	}
}

// agree checks that both engines returned the same kind of error.
func agree(rt *rapid.T, what string, errs twin[error]) error {
	for _, kind := range []error{storage.ErrNotFound, storage.ErrConflict, context.Canceled} {
		if errors.Is(errs[0], kind) && errors.Is(errs[1], kind) {
			return kind
		}
	}
	if errs[0] != nil || errs[1] != nil {
		rt.Fatalf("%s: the reference answers %v, the engine %v", what, errs[0], errs[1])
	}
	return nil
}

// begin starts a transaction in an empty slot.
func (m *model) begin(rt *rapid.T) {
	slot := modelSlot.Draw(rt, "slot")
	if m.txns[slot] != nil {
		return
	}
	if rapid.Bool().Draw(rt, "snapshot") {
		m.txns[slot] = &twin[storage.Txn]{m.engines[0].BeginSnapshot(), m.engines[1].BeginSnapshot()}
		return
	}
	m.txns[slot] = &twin[storage.Txn]{m.engines[0].Begin(), m.engines[1].Begin()}
}

// end commits a transaction or rolls it back.
func (m *model) end(rt *rapid.T) {
	slot := modelSlot.Draw(rt, "slot")
	txn := m.txns[slot]
	if txn == nil {
		return
	}
	m.txns[slot] = nil
	if rapid.IntRange(0, 3).Draw(rt, "rollback") == 0 {
		txn[0].Rollback()
		txn[1].Rollback()
		return
	}
	d := rapid.SampledFrom([]storage.Durability{storage.Buffered, storage.Durable}).Draw(rt, "durability")
	if err := agree(rt, "Commit", twin[error]{txn[0].Commit(d), txn[1].Commit(d)}); err != nil {
		rt.Fatalf("Commit: %v", err)
	}
}

// canceled returns a context with which Lock fails instead of waiting.
func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// write locks and changes a key in a transaction.
func (m *model) write(rt *rapid.T) {
	txn := m.txns[modelSlot.Draw(rt, "slot")]
	if txn == nil {
		return
	}
	m.change(rt, txn)
	if txn[0].Len() != txn[1].Len() || txn[0].Bytes() != txn[1].Bytes() {
		rt.Fatalf("sizes: %d/%d and %d/%d", txn[0].Len(), txn[0].Bytes(), txn[1].Len(), txn[1].Bytes())
	}
}

// writeMany makes a transaction with so many writes that they are no longer searched one by one.
func (m *model) writeMany(rt *rapid.T) {
	txn := m.txns[modelSlot.Draw(rt, "slot")]
	if txn == nil {
		return
	}
	for range 20 {
		m.change(rt, txn)
	}
}

func (m *model) change(rt *rapid.T, txn *twin[storage.Txn]) {
	if rapid.IntRange(0, 4).Draw(rt, "counter") == 0 {
		key := []byte(modelCounter.Draw(rt, "key"))
		delta := storage.Counter{Count: rapid.Int64Range(-9, 9).Draw(rt, "count"), Bytes: 3}
		_ = agree(rt, "Add", twin[error]{txn[0].Add(key, delta), txn[1].Add(key, delta)})
		return
	}
	key := []byte(modelKey.Draw(rt, "key"))
	ctx := canceled()
	if agree(rt, "Lock", twin[error]{txn[0].Lock(ctx, key), txn[1].Lock(ctx, key)}) != nil {
		return
	}
	if rapid.IntRange(0, 2).Draw(rt, "delete") == 0 {
		_ = agree(rt, "Delete", twin[error]{txn[0].Delete(key), txn[1].Delete(key)})
		return
	}
	value := bytes.Repeat([]byte{rapid.Byte().Draw(rt, "byte")},
		rapid.SampledFrom([]int{0, 1, 3, 127, 128, 300}).Draw(rt, "length"))
	_ = agree(rt, "Put", twin[error]{txn[0].Put(key, value), txn[1].Put(key, value)})
}

// reader draws a reader: the newest state, a snapshot or a transaction.
func (m *model) reader(rt *rapid.T) twin[storage.Reader] {
	slot := modelSlot.Draw(rt, "slot")
	switch from := rapid.IntRange(0, 2).Draw(rt, "from"); {
	case from == 0 && m.txns[slot] != nil:
		return twin[storage.Reader]{m.txns[slot][0], m.txns[slot][1]}
	case from == 1 && m.snapshots[slot] != nil:
		return twin[storage.Reader]{m.snapshots[slot][0], m.snapshots[slot][1]}
	}
	return twin[storage.Reader]{reader{m.engines[0]}, reader{m.engines[1]}}
}

// read compares the value of a key in both engines.
func (m *model) read(rt *rapid.T) {
	r, key := m.reader(rt), []byte(modelKey.Draw(rt, "key"))
	var values twin[[]byte]
	var errs twin[error]
	for i := range r {
		v, closer, err := r[i].Get(key)
		if errs[i] = err; err == nil {
			values[i] = bytes.Clone(v)
			errs[i] = closer.Close()
		}
		if txn, ok := r[i].(storage.Txn); ok && (err == nil || errors.Is(err, storage.ErrNotFound)) {
			checkHas(rt, txn, key, err == nil)
		}
	}
	_ = agree(rt, "Get", errs)
	if !bytes.Equal(values[0], values[1]) {
		rt.Fatalf("Get(%q): %q and %q", key, values[0], values[1])
	}
}

// walk moves an iterator of each engine in the same random way, and compares their positions.
func (m *model) walk(rt *rapid.T) {
	r := m.reader(rt)
	draw := func(name string) []byte {
		if rapid.IntRange(0, 2).Draw(rt, name+"Open") == 0 {
			return nil
		}
		return []byte(modelKey.Draw(rt, name))
	}
	lower, upper := draw("lower"), draw("upper")
	if lower != nil && upper != nil && bytes.Compare(lower, upper) > 0 {
		lower, upper = upper, lower
	}
	var its twin[storage.Iterator]
	for i := range r {
		it, err := r[i].NewIter(lower, upper)
		if err != nil {
			rt.Fatalf("NewIter: %v", err)
		}
		defer it.Close()
		its[i] = it
	}
	moves := rapid.SliceOfN(rapid.IntRange(0, 7), 1, 15).Draw(rt, "moves")
	positioned := false
	for _, move := range moves {
		key := []byte(modelKey.Draw(rt, "seek"))
		if !positioned && move >= 4 {
			move -= 4
		}
		positioned = true
		var at twin[string]
		for i, it := range its {
			at[i] = place(rt, it, moveIterator(it, move, key))
		}
		if at[0] != at[1] {
			rt.Fatalf("after move %d of %v (seek %q) in [%q, %q): reference at %s, engine at %s",
				move, moves, key, lower, upper, at[0], at[1])
		}
	}
}

func moveIterator(it storage.Iterator, move int, key []byte) bool {
	switch move {
	case 0:
		return it.First()
	case 1:
		return it.Last()
	case 2:
		return it.SeekGE(key)
	case 3:
		return it.SeekLT(key)
	case 4, 5:
		return it.Next()
	default:
		return it.Prev()
	}
}

// place describes the position of an iterator.
func place(rt *rapid.T, it storage.Iterator, at bool) string {
	if err := it.Err(); err != nil {
		rt.Fatalf("iterator: %v", err)
	}
	if !at {
		return "no key"
	}
	v, err := it.Value()
	if err != nil {
		rt.Fatalf("Value: %v", err)
	}
	return fmt.Sprintf("%q=%q", it.Key(), v)
}

// snapshot opens or closes a snapshot.
func (m *model) snapshot(rt *rapid.T) {
	slot := modelSlot.Draw(rt, "slot")
	if s := m.snapshots[slot]; s != nil {
		_ = agree(rt, "Close", twin[error]{s[0].Close(), s[1].Close()})
		m.snapshots[slot] = nil
		return
	}
	m.snapshots[slot] = &twin[storage.Snapshot]{m.engines[0].NewSnapshot(), m.engines[1].NewSnapshot()}
}

// deleteRange deletes a range. It omits the counters if a transaction may still add to one of them.
func (m *model) deleteRange(rt *rapid.T) {
	start, end := []byte(modelKey.Draw(rt, "start")), []byte(modelKey.Draw(rt, "end"))
	if bytes.Compare(start, end) > 0 {
		start, end = end, start
	}
	idle := !slices.ContainsFunc(m.txns[:], func(txn *twin[storage.Txn]) bool { return txn != nil })
	if idle && rapid.IntRange(0, 3).Draw(rt, "counters") == 0 {
		start, end = []byte("n"), []byte("o")
	}
	errs := twin[error]{m.engines[0].DeleteRange(start, end), m.engines[1].DeleteRange(start, end)}
	_ = agree(rt, "DeleteRange", errs)
}

// check compares the counters and everything that is committed.
func (m *model) check(rt *rapid.T) {
	for _, key := range []string{"n1", "n2"} {
		var sums twin[storage.Counter]
		var errs twin[error]
		for i, e := range m.engines {
			sums[i], errs[i] = e.Counter([]byte(key))
		}
		_ = agree(rt, "Counter", errs)
		if sums[0] != sums[1] {
			rt.Fatalf("counter %q: %+v and %+v", key, sums[0], sums[1])
		}
	}
	var pairs twin[[]string]
	for i, e := range m.engines {
		it, err := reader{e}.NewIter(nil, []byte("z"))
		if err != nil {
			rt.Fatalf("NewIter: %v", err)
		}
		for ok := it.First(); ok; ok = it.Next() {
			pairs[i] = append(pairs[i], place(rt, it, true))
		}
		if err := errors.Join(it.Err(), it.Close()); err != nil {
			rt.Fatalf("scan: %v", err)
		}
	}
	if !slices.Equal(pairs[0], pairs[1]) {
		rt.Fatalf("committed pairs: %v and %v", pairs[0], pairs[1])
	}
}
