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
	"github.com/sheafdb/sheaf/internal/spill"
)

// group is $group. Groups come out in the order in which their first documents came in, unless they were spilled.
type group struct {
	id expr.Expr
	outputs
	opts Options
	spec bsonx.Doc // what it was compiled from, for explain
	// bucket computes the _id of $bucket, which spec does not contain.
	bucket *bucketArguments
	read   reader // of the parts of the id, then of the accumulators' operands
	// readsMeta is true where an operand is metadata of the document.
	readsMeta bool
	// Where the id is an object, the names of its parts; their values are what identifies a group.
	parts []string
	// What the stage was before it did the work of those before it; nil where it does not.
	plain *group
}

// outputs are the fields that stages compute with accumulators.
type outputs struct {
	names  []string
	fields []*accumulator.Accumulation
	meter  interrupt.Meter // while they are compiled
}

func parseGroup(arg bsonx.Value, opts Options) ([]stage, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(15947, "a group's fields must be specified in an object")
	}
	return (&group{opts: opts, spec: arg.Doc()}).parse()
}

// parse compiles the fields of the specification. The _id of $bucket is already set.
func (g *group) parse() ([]stage, error) {
	for it := g.spec.Iter(); it.Next(); {
		var err error
		switch name := string(it.Key()); name {
		case "_id":
			if g.id != nil {
				return nil, mongoerr.New(15948, "a group's _id may only be specified once")
			}
			g.id, err = parseGroupID(it.Value(), g.opts)
		case "$doingMerge":
		default:
			err = g.addField(name, it.Value(), g.opts)
		}
		if err != nil {
			return nil, err
		}
	}
	if g.id == nil {
		return nil, mongoerr.New(15955, "a group specification must include an _id")
	}
	if err := g.compile(); err != nil {
		return nil, err
	}
	return []stage{g}, nil
}

func parseGroupID(v bsonx.Value, opts Options) (expr.Expr, error) {
	if v.Type == bsonx.TypeDocument && !strings.HasPrefix(string(v.Doc().First().Key), "$") {
		for it := v.Doc().Iter(); it.Next(); {
			if t := it.Value().Type; strings.HasPrefix(string(it.Key()), "$") || t.IsNumber() || t == bsonx.TypeBool {
				return nil, mongoerr.New(17390, "$group does not support inclusion-style expressions")
			}
		}
	}
	id, err := expr.Parse(v, opts.Vars)
	if err != nil {
		return nil, err
	}
	if c, ok := expr.ConstValue(id); ok && c.Type == bsonx.TypeDocument && c.Doc().IsEmpty() && v.Type == bsonx.TypeDocument && v.Doc().Len() == 1 && !isOperatorCall(v.Doc()) {
		// The only field is a constant that is missing: it is null, as in idPart.
		return expr.Parse(bsonx.Document(bsonx.NewDoc(string(v.Doc().First().Key), bsonx.Null)), opts.Vars)
	}
	return id, nil
}

// isOperatorCall reports whether a document is {$operator: …}.
func isOperatorCall(d bsonx.Doc) bool {
	return d.Len() == 1 && strings.HasPrefix(string(d.First().Key), "$")
}

func (o *outputs) addField(name string, v bsonx.Value, opts Options) error {
	if err := o.meter.Did(functionWork, opts.Vars.Scripts().Running); err != nil {
		return err
	}
	switch {
	case v.Type != bsonx.TypeDocument || v.Doc().IsEmpty() || !strings.HasPrefix(string(v.Doc().First().Key), "$"):
		return mongoerr.New(40234, "The field '%s' must be an accumulator object", name)
	case strings.Contains(name, "."):
		return mongoerr.New(40235, "The field name '%s' cannot contain '.'", name)
	case strings.HasPrefix(name, "$"):
		return mongoerr.New(40236, "The field name '%s' cannot be an operator name", name)
	case v.Doc().Len() != 1:
		return mongoerr.New(40238, "The field '%s' must specify one accumulator: %s: %s", name, name, bsonx.FormatShell(v))
	}
	op := v.Doc().First()
	acc, err := accumulator.Parse(string(op.Key), op.Value, opts.Vars)
	if err != nil {
		return err
	}
	o.names = append(o.names, name)
	o.fields = append(o.fields, acc)
	return nil
}

// args are the expressions whose values are accumulated.
func (o *outputs) args() []expr.Expr {
	list := make([]expr.Expr, len(o.fields))
	for i, f := range o.fields {
		list[i] = f.Arg
	}
	return list
}

// start returns new accumulators for a group, and how much memory they take.
func (o *outputs) start(ctx *expr.Context, id bsonx.Value) ([]accumulator.Accumulator, int, error) {
	accs, bytes := make([]accumulator.Accumulator, len(o.fields)), 0
	for i, f := range o.fields {
		if err := lookAt(i, ctx.Running); err != nil {
			return nil, 0, err
		}
		acc, err := f.New(ctx, id)
		if err != nil {
			return nil, 0, err
		}
		accs[i] = acc
		bytes += acc.Bytes()
	}
	return accs, bytes, nil
}

// add gives a document's values, from the n-th of r, to the accumulators, and returns how much more memory they take.
func (o *outputs) add(accs []accumulator.Accumulator, r *reading, n int) (grown int, err error) {
	for i, acc := range accs {
		if err := lookAt(i, r.ctx.Running); err != nil {
			return 0, err
		}
		if o.fields[i].Once {
			if s, ok := acc.(accumulator.Sater); ok && s.Sated() {
				continue
			}
		}
		v, err := r.value(n + i)
		if err != nil {
			return 0, err
		}
		if o.fields[i].FixedSize {
			if err := acc.Add(v); err != nil {
				return 0, err
			}
			continue
		}
		before := acc.Bytes()
		if err := acc.Add(v); err != nil {
			return 0, err
		}
		grown += acc.Bytes() - before
	}
	return grown, nil
}

// fieldsPerLook is how many fields of one document are computed between two looks at the operation.
const fieldsPerLook = 1 << 10

// lookAt looks at the operation now and then, for the i-th of the fields that a stage computes of
// one document.
func lookAt(i int, running *interrupt.Running) error {
	if i%fieldsPerLook != fieldsPerLook-1 {
		return nil
	}
	return running.Err()
}

// document writes a result: the _id and what the accumulators gathered.
func (o *outputs) document(b *bsonx.Builder, id bsonx.Value, accs []accumulator.Accumulator, running *interrupt.Running) (bsonx.Doc, error) {
	b.Reset(b.Bytes()[:0])
	b.StartDoc()
	b.Value("_id", id)
	for i, acc := range accs {
		if err := lookAt(i, running); err != nil {
			return nil, err
		}
		if err := accumulator.Finish(acc, true); err != nil {
			return nil, err
		}
		if err := o.append(b, i, acc, accumulator.Accumulator.Result, running); err != nil {
			return nil, err
		}
	}
	b.End()
	if b.Len() > bsonx.MaxResultBytes {
		return nil, mongoerr.New(mongoerr.BSONObjectTooLarge,
			"BSONObj size: %d (0x%X) is invalid. Size must be between 0 and %d(16MB) First element: _id: %s", b.Len(), b.Len(), bsonx.MaxResultBytes, expr.Show(id))
	}
	return b.Bytes(), nil
}

// append appends what an accumulator has gathered, the i-th of a group. A large value is there
// three times for a moment, of which the accumulator's own is counted elsewhere.
func (o *outputs) append(b *bsonx.Builder, i int, acc accumulator.Accumulator, of func(accumulator.Accumulator) bsonx.Value, running *interrupt.Running) error {
	n := acc.Bytes()
	if n < memory.LargeValue {
		b.Value(o.names[i], of(acc))
		return nil
	}
	if err := memory.Of(running.Context()).Value(int64(b.Len() + n)); err != nil {
		return err
	}
	v := of(acc)
	b.Grow(len(v.Data) + len(o.names[i]) + appendedRoom)
	b.Value(o.names[i], v)
	return nil
}

// appendedRoom is the room for what follows a large value: the type of the field, and ends.
const appendedRoom = 64

// compile prepares the reading of documents. It fails where the operation ends.
func (g *group) compile() (err error) {
	ids := []expr.Expr{g.id}
	if names, values, ok := expr.ObjectFields(g.id); ok {
		g.parts, ids = names, values
	}
	if g.read, err = newReader(append(slices.Clone(ids), g.args()...), g.opts.Vars.Scripts().Running); err != nil {
		return err
	}
	g.readsMeta = len(g.read.fields.MetaKinds()) > 0
	return nil
}

// idParts returns how many values identify a group.
func (g *group) idParts() int { return len(g.read.inputs) - len(g.fields) }

func (g *group) open(src Source, env *Env) Source {
	s := g.source(env, &groupMemory{limit: int64(env.memoryLimit())})
	s.src = src
	return s
}

// source returns a source without an input.
func (g *group) source(env *Env, memory *groupMemory) *groupSource {
	s := &groupSource{
		group: g, env: env, memory: memory, held: env.hold(), spill: env.newSpill(), index: map[string]*groupEntry{},
		out: bsonx.NewBuilder(nil), ctx: expr.Context{Now: g.opts.Now}, used: env.memoryUse(),
	}
	s.ctx.Running = &s.running
	return s
}

// groupMemory is what the groups take, those of all goroutines together.
type groupMemory struct {
	limit int64
	used  atomic.Int64
}

// groupEntry is one group.
type groupEntry struct {
	key    string
	id     bsonx.Value
	values []accumulator.Accumulator
}

type groupSource struct {
	input
	group   *group
	env     *Env
	memory  *groupMemory
	held    memory.Holding
	parts   []*groupSource // of other goroutines
	ctx     expr.Context
	loaded  bool
	entries []*groupEntry
	index   map[string]*groupEntry
	bytes   int64 // the part of memory that the entries take
	next    int
	key     []byte
	out     *bsonx.Builder
	spill   *spill.Runs
	used    *memoryUse // nil unless the run is explained
	merged  *spill.Merge
	more    bool // merged has an entry that was not used yet
	running interrupt.Running
	meter   interrupt.Meter
}

// Close implements Source.
func (s *groupSource) Close() {
	s.closeSpills()
	s.input.Close()
}

// Save implements Source.
func (s *groupSource) Save() {
	idleBuilder(s.out)
	s.ctx.Rest()
	s.input.Save()
}

// Kept implements memory.Keeper.
func (s *groupSource) Kept() int64 {
	kept := s.input.Kept() + s.held.Beyond(s.bytes)
	for _, part := range s.parts {
		kept += part.held.Beyond(part.bytes)
	}
	return kept
}

// Next implements Source.
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
	if rows, ok := s.src.(*sharedRows); ok {
		var err error
		if done, err = s.gatherShared(ctx, rows); err != nil {
			return err
		}
	}
	if !done {
		if err := s.gather(ctx, s.src); err != nil {
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

// gather reads documents to the end and adds each to its group.
func (s *groupSource) gather(ctx context.Context, src Source) error {
	s.running.Set(ctx)
	r := s.group.read.start(&s.ctx)
	if !s.group.readsMeta {
		return Drain(ctx, src, func(doc bsonx.Doc) error { return s.add(r, doc) })
	}
	return Drain(ctx, src, func(doc bsonx.Doc) error {
		s.ctx.Meta = metaOf(src)
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
			v = bsonx.Missing // they compare equal; the first of a group gives its _id
		}
		if v, err = s.group.opts.Collation.Fold(v, nil); err != nil {
			return err
		}
		s.key = appendGroupKey(s.key, v)
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
	if ok, err := fits(&s.held, int(s.bytes), s.spill != nil); ok || err != nil {
		return err
	}
	return s.writeRun()
}

// entry makes the group of the document that is being read, and tells how much memory it takes.
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

// groupEntryBytes is about what a group takes beside its key and accumulators.
const groupEntryBytes = 128

// id returns the _id of the document that is being read, which owns its bytes.
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

// idPart returns one of the values that identify the group of the document that is being read. A value that stands alone, also as the
// only field of an object, is null where it is missing; of several fields, the missing ones are left out of the _id.
func (s *groupSource) idPart(r *reading, i int) (bsonx.Value, error) {
	v, err := r.value(i)
	if v.IsMissing() && s.group.idParts() == 1 {
		v = bsonx.Null
	}
	return v, err
}

// writeRun writes all groups to the disk, in the order of their keys, and forgets them. An entry's payload is a document
// of the _id and the states of the accumulators.
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
	idleBuilder(s.out)
	clear(s.index)
	clear(s.entries)
	s.memory.used.Add(-s.bytes)
	s.entries, s.bytes = s.entries[:0], 0
	s.held.Release()
	return s.spill.EndRun()
}

// nextMerged joins the parts of the next group.
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

// holdMerged counts a group that is joined of its parts. It cannot be written to the disk again.
func (s *groupSource) holdMerged(accs []accumulator.Accumulator) error {
	n := 0
	for _, a := range accs {
		n += a.Bytes()
	}
	return s.held.Hold(int64(n))
}
