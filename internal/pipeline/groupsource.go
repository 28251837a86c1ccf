package pipeline

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/sheafdb/sheaf/internal/accumulator"
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/document"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
	"github.com/sheafdb/sheaf/internal/spill"
)

func (g *group) Open(src source.Source, env *source.Env) source.Source {
	env = env.For(groupBudget)
	s := g.source(env, &groupMemory{limit: int64(env.Limit())})
	s.Src = src
	return s
}

// source returns a groupSource for this stage that is not connected to an input yet.
func (g *group) source(env *source.Env, memory *groupMemory) *groupSource {
	s := &groupSource{
		group: g, env: env, memory: memory, held: env.Hold(), spill: env.NewSpill(), index: map[string]*groupEntry{},
		out: bsonx.NewBuilder(nil), ctx: expr.Context{Now: g.opts.Now}, used: newMemoryUse(env),
	}
	s.ctx.Running = &s.running
	return s
}

// groupMemory is the memory that the groups of all goroutines use together, and its limit, in
// bytes.
type groupMemory struct {
	limit int64
	used  atomic.Int64
}

// groupEntry is one group: its encoded key, its _id and its accumulators.
type groupEntry struct {
	key    string
	id     bsonx.Value
	values []accumulator.Accumulator
}

type groupSource struct {
	source.Input
	group   *group
	env     *source.Env
	memory  *groupMemory
	held    memory.Holding
	parts   []*groupSource // the sources of the other goroutines, if the input is shared
	ctx     expr.Context
	loaded  bool
	entries []*groupEntry
	index   map[string]*groupEntry
	bytes   int64 // the memory of the entries, counted in memory.used too
	next    int
	key     []byte
	out     *bsonx.Builder
	spill   *spill.Runs
	used    *memoryUse // nil unless the run is explained
	merged  *spill.Merge
	more    bool // merged is positioned on an entry that was not used yet
	running interrupt.Running
	meter   interrupt.Meter
}

// Close implements source.Source.
func (s *groupSource) Close() {
	s.closeSpills()
	s.Input.Close()
}

// Save implements source.Source.
func (s *groupSource) Save() {
	source.IdleBuilder(s.out)
	s.ctx.Rest()
	s.Input.Save()
}

// Kept implements memory.Keeper.
func (s *groupSource) Kept() int64 {
	kept := s.Input.Kept() + s.held.Beyond(s.bytes)
	for _, part := range s.parts {
		kept += part.held.Beyond(part.bytes)
	}
	return kept
}

// Next implements source.Source.
func (s *groupSource) Next(ctx context.Context) (bsonx.Doc, error) {
	s.running.Set(ctx)
	if !s.loaded {
		s.loaded = true
		if err := s.load(ctx); err != nil {
			return nil, err
		}
	}
	if s.merged != nil {
		return s.nextMerged(ctx)
	}
	if s.next == len(s.entries) {
		return nil, nil
	}
	e := s.entries[s.next]
	s.entries[s.next] = nil
	s.next++
	return s.group.document(s.out, e.id, e.values, &s.running)
}

func (s *groupSource) load(ctx context.Context) error {
	done := false
	if rows, ok := s.Src.(*sharedRows); ok {
		var err error
		if done, err = s.gatherShared(ctx, rows); err != nil {
			return err
		}
	}
	if !done {
		if err := s.gather(ctx, s.Src); err != nil {
			return err
		}
	}
	runs := []*spill.Runs{s.spill}
	for _, part := range s.parts {
		runs = append(runs, part.spill)
	}
	if !slices.ContainsFunc(runs, (*spill.Runs).Used) {
		s.used.note(s.entries)
		return nil
	}
	err := s.writeRun()
	if err != nil {
		return err
	}
	if s.merged, err = spill.MergeAll(runs); err != nil {
		return err
	}
	s.more = s.merged.Next()
	return s.merged.Err()
}

// gather reads src to its end and adds each document to its group.
func (s *groupSource) gather(ctx context.Context, src source.Source) error {
	s.running.Set(ctx)
	r := s.group.read.start(&s.ctx)
	if !s.group.readsMeta {
		return source.Drain(ctx, src, func(doc bsonx.Doc) error { return s.add(r, doc) })
	}
	return source.Drain(ctx, src, func(doc bsonx.Doc) error {
		s.ctx.Meta = source.MetaOf(src)
		return s.add(r, doc)
	})
}

func (s *groupSource) add(r *reading, doc bsonx.Doc) error {
	r.read(doc)
	n := s.group.idParts()
	s.key = s.key[:0]
	for i := range n {
		v, err := s.idPart(r, i)
		if err != nil {
			return err
		}
		if v.Type == bsonx.TypeUndefined && n > 1 {
			// Missing and undefined are one group; its first document decides which of the two is
			// in the _id.
			v = bsonx.Missing
		}
		if v, err = s.group.opts.Collation.Fold(v, nil); err != nil {
			return err
		}
		s.key = document.AppendGroupKey(s.key, v)
	}
	e, ok := s.index[string(s.key)]
	entered := 0
	if !ok {
		var err error
		if e, entered, err = s.entry(r); err != nil {
			return err
		}
		s.ctx.Root = bsonx.Document(doc)
	}
	grown, err := s.group.add(e.values, r, n)
	if err != nil {
		return err
	}
	if grown += entered; grown == 0 {
		return nil
	}
	s.bytes += int64(grown)
	if s.memory.used.Add(int64(grown)) > s.memory.limit {
		return s.writeRun()
	}
	if ok, err := source.Fits(&s.held, int(s.bytes), s.spill != nil); ok || err != nil {
		return err
	}
	return s.writeRun()
}

// entry creates the group of the current document, and returns it with the memory that it uses in
// bytes.
func (s *groupSource) entry(r *reading) (*groupEntry, int, error) {
	id, err := s.id(r)
	if err != nil {
		return nil, 0, err
	}
	e := &groupEntry{key: string(s.key), id: id}
	var bytes int
	if e.values, bytes, err = s.group.start(&s.ctx, id); err != nil {
		return nil, 0, err
	}
	s.index[e.key] = e
	s.entries = append(s.entries, e)
	return e, bytes + len(s.key) + len(id.Data) + groupEntryBytes, nil
}

// groupEntryBytes estimates the memory of a group in bytes, without its key, _id and accumulators.
const groupEntryBytes = 128

// id returns the _id for the group of the current document. The value does not share memory with
// the document.
func (s *groupSource) id(r *reading) (bsonx.Value, error) {
	if s.group.parts == nil {
		v, err := s.idPart(r, 0)
		return v.Clone(), err
	}
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for i, name := range s.group.parts {
		v, err := s.idPart(r, i)
		if err != nil {
			return bsonx.Missing, err
		}
		b.Value(name, v)
	}
	b.End()
	return bsonx.Document(b.Bytes()), nil
}

// idPart returns value i of the values that identify the group of the current document. If there is
// only one value, also as the only field of an object, a missing value becomes null. If there are
// several, a missing field is left out of the _id.
func (s *groupSource) idPart(r *reading, i int) (bsonx.Value, error) {
	v, err := r.value(i)
	if v.IsMissing() && s.group.idParts() == 1 {
		v = bsonx.Null
	}
	return v, err
}

// writeRun writes all groups to disk, sorted by key, and discards them. The payload of an entry is
// a document with the _id and the states of the accumulators. It fails if the operation may not use
// the disk.
func (s *groupSource) writeRun() error {
	if s.spill == nil {
		return mongoerr.New(mongoerr.QueryExceededMemoryLimitNoDiskUseAllowed,
			"Exceeded memory limit for $group, but didn't allow external sort. Pass allowDiskUse:true to opt in. Memory limit: %d bytes", s.memory.limit)
	}
	s.used.note(s.entries)
	byKey := func(a, b *groupEntry) int { return strings.Compare(a.key, b.key) }
	if err := interrupt.SortUnstable(s.entries, interrupt.Step, byKey, &s.meter, &s.running); err != nil {
		return err
	}
	for _, e := range s.entries {
		s.out.Reset(s.out.Bytes()[:0])
		s.out.StartDoc()
		s.out.Value("_id", e.id)
		for i, acc := range e.values {
			if err := lookAt(i, &s.running); err != nil {
				return err
			}
			if err := accumulator.Finish(acc, false); err != nil {
				return err
			}
			if err := s.group.append(s.out, i, acc, accumulator.Accumulator.State, &s.running); err != nil {
				return err
			}
		}
		s.out.End()
		s.key = append(s.key[:0], e.key...)
		s.spill.Add(s.key, s.out.Bytes())
		if err := s.meter.Did(interrupt.Document+len(s.key)+s.out.Len(), &s.running); err != nil {
			return err
		}
	}
	source.IdleBuilder(s.out)
	clear(s.index)
	clear(s.entries)
	s.memory.used.Add(-s.bytes)
	s.entries, s.bytes = s.entries[:0], 0
	s.held.Release()
	return s.spill.EndRun()
}

// nextMerged returns the next group from the spilled runs. It merges the states of the group from
// all runs.
func (s *groupSource) nextMerged(ctx context.Context) (bsonx.Doc, error) {
	if !s.more {
		return nil, s.merged.Err()
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	s.key = append(s.key[:0], s.merged.Key()...)
	id := bsonx.Doc(s.merged.Payload()).First().Value.Clone()
	accs, _, err := s.group.start(&s.ctx, id)
	if err != nil {
		return nil, err
	}
	for s.more && string(s.merged.Key()) == string(s.key) {
		it := bsonx.Doc(s.merged.Payload()).Iter()
		it.Next()
		for i := 0; it.Next(); i++ {
			if err := lookAt(i, &s.running); err != nil {
				return nil, err
			}
			if err := accs[i].Merge(it.Value()); err != nil {
				return nil, err
			}
		}
		if err := s.holdMerged(accs); err != nil {
			return nil, err
		}
		s.more = s.merged.Next()
	}
	if s.merged.Err() != nil {
		return nil, s.merged.Err()
	}
	return s.group.document(s.out, id, accs, &s.running)
}

// holdMerged reserves the memory of a group that is merged from spilled runs. Such a group cannot
// be spilled again.
func (s *groupSource) holdMerged(accs []accumulator.Accumulator) error {
	n := 0
	for _, a := range accs {
		n += a.Bytes()
	}
	return s.held.Hold(int64(n))
}

// Meta implements source.MetaSource. A group has no document metadata.
func (s *groupSource) Meta() *expr.Meta { return source.WithoutScore(s.Src) }

// newMemoryUse returns a recorder for the memory of a $group, or nil if the run is not explained.
func newMemoryUse(e *source.Env) *memoryUse {
	if e == nil || e.Observer == nil {
		return nil
	}
	return &memoryUse{}
}

// memoryUse records the peak memory of each accumulator, summed over all groups, in bytes. It is
// nil if the run is not explained.
type memoryUse struct{ most []int64 }

func (m *memoryUse) of(i int) int64 {
	if m == nil || i >= len(m.most) {
		return 0
	}
	return m.most[i]
}

// note updates the peaks with the current memory of the groups.
func (m *memoryUse) note(groups []*groupEntry) {
	if m == nil {
		return
	}
	var sums []int64
	for _, g := range groups {
		if g == nil {
			continue
		}
		if sums == nil {
			sums = make([]int64, len(g.values))
		}
		for i, acc := range g.values {
			sums[i] += int64(acc.Bytes())
		}
	}
	for i, n := range sums {
		if i == len(m.most) {
			m.most = append(m.most, 0)
		}
		m.most[i] = max(m.most[i], n)
	}
}

// makesFields implements fieldMaker.
func (*groupSource) makesFields() {}
