package pipeline

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/document"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
	"github.com/sheafdb/sheaf/internal/spill"
	"github.com/sheafdb/sheaf/internal/window"
)

// windowSource runs $setWindowFields over sorted documents.
type windowSource struct {
	source.Input
	stage  *setWindowFields
	part   windowPartition
	execs  []window.Exec
	out    *document.Writer
	next   int
	opened bool
}

// Next returns the next document with the results of the functions added.
func (s *windowSource) Next(ctx context.Context) (bsonx.Doc, error) {
	if err := interrupt.Cause(ctx); err != nil { // one document can take milliseconds
		return nil, err
	}
	s.part.running.Set(ctx)
	if !s.opened { // opens the functions even without input, to report errors in their parameters
		if err := s.start(); err != nil {
			return nil, err
		}
	}
	ok, err := s.part.Has(ctx, s.next)
	if err != nil {
		return nil, err
	}
	if !ok {
		if !s.part.advance() {
			return nil, nil
		}
		if err := s.start(); err != nil {
			return nil, err
		}
	}
	for i, e := range s.execs {
		if err := lookAt(i, &s.part.running); err != nil {
			return nil, err
		}
		if s.out.Values[i], err = e.Value(ctx, &s.part, s.next); err != nil {
			return nil, err
		}
		if s.out.Values[i].IsMissing() {
			s.out.Values[i] = bsonx.Null
		}
	}
	doc, err := s.part.Document(s.next)
	if err != nil {
		return nil, err
	}
	out, err := s.out.Document(s.stage.output, doc, &s.part.running)
	if err != nil {
		return nil, err
	}
	s.part.docs.Release()
	s.next++
	return out, nil
}

// Save implements source.Source.
func (s *windowSource) Save() {
	clear(s.out.Values)
	source.IdleBuilder(s.out.Builder)
	s.part.ctx.Rest()
	s.Input.Save()
}

// Kept implements memory.Keeper.
func (s *windowSource) Kept() int64 {
	var values int64
	for _, e := range s.execs {
		if k, ok := e.(memory.Keeper); ok {
			values += k.Kept()
		}
	}
	return values + s.part.held.Beyond(int64(s.part.bytes)+s.part.docs.Held()) +
		int64(len(s.part.pending)) + s.Input.Kept()
}

// Close implements source.Source.
func (s *windowSource) Close() {
	s.part.docs.Close()
	s.part.held.Release()
	s.Input.Close()
}

// start resets the functions for a new partition, or opens them for the first one.
func (s *windowSource) start() error {
	s.opened, s.next = true, 0
	for i, f := range s.stage.functions {
		if err := lookAt(i, &s.part.running); err != nil {
			return err
		}
		if e, ok := s.execs[i].(window.Resettable); ok {
			e.Reset()
			continue
		}
		var err error
		if s.execs[i], err = f.Open(&s.part.ctx); err != nil {
			return err
		}
	}
	return nil
}

// windowPartition reads the partitions one after the other. It keeps the documents from the current
// one to the last one that a function has asked for, and spills them to a file beyond the memory
// limit. If all functions read only the current document, it keeps nothing.
type windowPartition struct {
	src   source.Source
	stage *setWindowFields
	ctx   expr.Context
	env   *source.Env
	limit int
	held  memory.Holding
	// kept is the metadata of the document that was read last. It is not used if all functions read
	// only the current document.
	kept source.KeptMeta

	running interrupt.Running
	meter   interrupt.Meter

	key     bsonx.Value // the key of the current partition
	started bool
	docs    spill.Deque
	ended   bool
	pending bsonx.Doc // the first document of the next partition, already read
	pendKey bsonx.Value
	bytes   int // the memory that the functions use
}

// Has implements window.Partition: it reports whether the partition has a document with index i,
// and reads the input up to it.
func (p *windowPartition) Has(ctx context.Context, i int) (bool, error) {
	for p.docs.End() <= i {
		if p.ended {
			return false, nil
		}
		doc, err := p.src.Next(ctx)
		if err != nil {
			return false, err
		}
		if doc == nil {
			p.ended = true
			return false, nil
		}
		if err := p.meter.Did(interrupt.Document+len(doc), &p.running); err != nil {
			return false, err
		}
		if err := p.take(doc); err != nil {
			return false, err
		}
	}
	return true, nil
}

// take adds doc to the partition, or keeps it as pending if it begins the next partition.
func (p *windowPartition) take(doc bsonx.Doc) error {
	key, err := p.keyOf(doc)
	if err != nil {
		return err
	}
	if !p.stage.streams {
		if err := p.Reserve(len(doc)); err != nil {
			return err
		}
		doc = p.docs.Copy(p.kept.Join(doc, p.src))
	}
	same, err := p.same(key)
	if err != nil {
		return err
	}
	if !same {
		p.pending, p.pendKey, p.ended = doc, key.Clone(), true
		return nil
	}
	if !p.started {
		p.started, p.key = true, key.Clone()
	}
	return p.keep(doc)
}

func (p *windowPartition) keyOf(doc bsonx.Doc) (bsonx.Value, error) {
	if p.stage.partition == nil {
		return bsonx.Null, nil
	}
	p.ctx.Root, p.ctx.Meta = bsonx.Document(doc), source.MetaOf(p.src)
	key, err := p.stage.partition.Eval(&p.ctx)
	switch {
	case err != nil:
		return key, err
	case key.Type == bsonx.TypeArray:
		return key, errPartitionArray()
	case key.IsMissing():
		return bsonx.Null, nil
	}
	return key, nil
}

func (p *windowPartition) same(key bsonx.Value) (bool, error) {
	if !p.started || p.stage.partition == nil {
		return true, nil
	}
	c := p.stage.opts.Collation
	return c.CompareValues(key, p.key) == 0, c.Ended(key, p.key)
}

func (p *windowPartition) keep(doc bsonx.Doc) error {
	p.docs.Push(doc)
	return p.Grow(0)
}

// Grow implements window.Partition: it adds n bytes, which may be negative, to the memory of the
// functions. Beyond the limit it spills documents to disk, because the memory of functions cannot
// be spilled.
func (p *windowPartition) Grow(n int) error {
	p.bytes += n
	if p.bytes+p.docs.Bytes() <= p.limit {
		ok, err := source.Fits(&p.held, p.bytes+p.docs.Bytes(),
			p.env != nil && p.env.AllowDiskUse && p.docs.Bytes() > p.bytes)
		if ok || err != nil {
			return err
		}
	}
	if p.env == nil || !p.env.AllowDiskUse {
		return mongoerr.New(mongoerr.QueryExceededMemoryLimitNoDiskUseAllowed,
			"Exceeded max memory. Current memory: %d bytes. Max allowed memory: %d bytes. Set 'allowDiskUse: true' to spill to disk", p.bytes+p.docs.Bytes(), p.limit)
	}
	if p.bytes > p.limit {
		return mongoerr.New(5414201, "Exceeded memory limit in DocumentSourceSetWindowFields, used %d bytes but max allowed is %d", p.bytes, p.limit)
	}
	p.held.Shrink(int64(p.bytes))
	return p.docs.Spill(p.env.TempDir)
}

// Reserve implements window.Partition: it reserves n bytes before a document or value of that size
// is copied. It does nothing for n < source.LargeDocument.
func (p *windowPartition) Reserve(n int) error {
	if n < source.LargeDocument {
		return nil
	}
	spills := p.env != nil && p.env.AllowDiskUse && p.docs.Bytes() > 0
	if ok, err := source.Fits(&p.held, p.bytes+p.docs.Bytes()+n, spills); ok || err != nil {
		return err
	}
	p.held.Shrink(int64(p.bytes))
	if err := p.docs.Spill(p.env.TempDir); err != nil {
		return err
	}
	return p.held.Hold(int64(p.bytes + n))
}

// Document returns the document with index i. Meta returns its metadata until the next call.
func (p *windowPartition) Document(i int) (bsonx.Doc, error) {
	record, err := p.docs.Record(i)
	if err != nil || p.stage.streams {
		return record, err
	}
	return p.kept.Split(record), nil
}

// Shrink subtracts n bytes that a function has released.
func (p *windowPartition) Shrink(n int) { p.bytes -= n }

// Did implements window.Partition: it adds work to the meter, and checks from time to time whether
// the operation was interrupted.
func (p *windowPartition) Did(work int) error { return p.meter.Did(work, &p.running) }

// Meta returns the metadata of the document that was read last.
func (p *windowPartition) Meta() *expr.Meta {
	if p.stage.streams {
		return source.MetaOf(p.src)
	}
	return p.kept.Meta()
}

// Eval evaluates e for the document with index i.
func (p *windowPartition) Eval(e expr.Expr, i int) (bsonx.Value, error) {
	doc, err := p.Document(i)
	if err != nil {
		return bsonx.Missing, err
	}
	p.ctx.Root, p.ctx.Meta = bsonx.Document(doc), p.Meta()
	return e.Eval(&p.ctx)
}

// advance moves to the next partition. It returns false after the last partition.
func (p *windowPartition) advance() bool {
	if p.pending == nil {
		return false
	}
	p.key, p.ended, p.bytes = p.pendKey, false, 0
	p.docs.Reset()
	p.held.Release()
	p.docs.Push(p.pending)
	p.pending = nil
	return true
}

// Meta implements source.MetaSource.
func (s *windowSource) Meta() *expr.Meta { return s.part.Meta() }
