package foreign

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/document"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// Open implements parsing.Stage.
func (l *Lookup) Open(src source.Source, env *source.Env) source.Source {
	env = env.For(lookupBudget)
	s := &lookupSource{
		Input: source.Input{Src: src}, lookup: l, env: env, held: env.Hold(),
		limit: env.Limit(), out: bsonx.NewBuilder(nil),
		letValues: make([]bsonx.Value, len(l.Let)), ctx: expr.Context{Now: l.Opts.Now},
		doc: document.NewSplicer(l.As, l.Wanted),
	}
	s.cache.limit = min(s.limit, maxLookupCache)
	s.cache.off = !l.cached
	s.foreign = foreignField{
		db: l.DB, name: l.From, path: l.Foreign, before: l.Only,
		opts: l.Opts, env: env, tables: l.Tables,
	}
	return s
}

// lookupSource runs a $lookup.
type lookupSource struct {
	source.Input
	lookup    *Lookup
	env       *source.Env
	held      memory.Holding // the memory of the results and the cache
	limit     int
	ctx       expr.Context
	locals    []bsonx.Value
	letValues []bsonx.Value
	key       []byte
	cache     resultCache
	foreign   foreignField
	out       *bsonx.Builder
	doc       document.Splicer
	unwinding
}

// Next implements source.Source.
func (s *lookupSource) Next(ctx context.Context) (bsonx.Doc, error) {
	if s.lookup.Unwind != nil {
		return s.nextUnwound(ctx)
	}
	doc, err := s.Src.Next(ctx)
	if err != nil || doc == nil {
		return nil, err
	}
	found, err := s.find(ctx, doc)
	if err != nil {
		return nil, err
	}
	s.doc.Start(doc)
	if err := s.hold(s.doc.Room(found)); err != nil {
		return nil, err
	}
	return s.doc.With(found), nil
}

// hold reserves the memory that the stage keeps, and n bytes more.
func (s *lookupSource) hold(n int64) error { return s.held.Hold(s.kept() + n) }

// kept returns the bytes that the stage keeps, without its table.
func (s *lookupSource) kept() int64 {
	return s.doc.Kept() + int64(cap(s.out.Bytes())+len(s.next)+s.cache.bytes)
}

// find returns the array of documents that match doc. The array is borrowed until the next call of
// find.
func (s *lookupSource) find(ctx context.Context, doc bsonx.Doc) (bsonx.Value, error) {
	if err := s.evaluate(ctx, doc); err != nil {
		return bsonx.Missing, err
	}
	cached := !s.cache.off && len(s.key) <= s.cache.limit
	if cached {
		if v, ok := s.cache.get(s.key); ok {
			return v, nil
		}
	}
	src, err := s.search(ctx)
	if err != nil {
		return bsonx.Missing, err
	}
	s.out.Reset(s.out.Bytes()[:0])
	s.out.StartArray()
	whole, err := s.gather(ctx, src)
	if err != nil {
		return bsonx.Missing, err
	}
	s.out.End()
	v := bsonx.Array(s.out.Bytes())
	if whole && cached && s.held.Spare(s.kept()+int64(len(s.key)+len(v.Data))) {
		s.cache.put(s.key, v)
	}
	return v, nil
}

func (s *lookupSource) search(ctx context.Context) (source.Source, error) {
	if s.lookup.Piped {
		return s.runPipeline(ctx)
	}
	return s.foreign.Open(ctx, s.locals)
}

// gather appends the found documents to the array s.out and closes src. With a fused $unwind the
// array may stop at limits.DocumentBytes: then whole is false, and s.next and s.rest yield the
// remaining documents.
func (s *lookupSource) gather(ctx context.Context, src source.Source) (whole bool, err error) {
	for {
		doc, err := src.Next(ctx)
		if err != nil || doc == nil {
			src.Close()
			return true, err
		}
		if s.out.Len()+len(doc) <= limits.DocumentBytes {
			if err := s.makeRoom(len(doc)); err != nil {
				src.Close()
				return true, err
			}
			s.out.Elem(bsonx.Document(doc))
			continue
		}
		if s.lookup.Unwind == nil {
			src.Close()
			return false, mongoerr.New(4568, "Total size of documents in %s matching pipeline's $lookup stage exceeds %d bytes", s.lookup.From, limits.DocumentBytes)
		}
		s.next, s.rest = doc.Clone(), src
		return false, nil
	}
}

// makeRoom grows the array for a document of n bytes, and reserves the memory. While the array is
// copied to a larger buffer, both buffers count.
func (s *lookupSource) makeRoom(n int) error {
	n += arrayKeyRoom
	have, room := s.out.Len(), cap(s.out.Bytes())
	if have+n <= room {
		return nil
	}
	if have+n >= memory.Step {
		if err := s.hold(int64(have + max(n, have))); err != nil {
			return err
		}
	}
	s.out.Grow(n)
	return nil
}

// varsPerLook is the number of variables that are computed between two checks for an interrupt.
const varsPerLook = 1 << 10

// arrayKeyRoom is an upper bound in bytes for the type and key of an array element, plus the end of
// the array.
const arrayKeyRoom = 16

// evaluate computes the values that the results for doc depend on, and the cache key made from
// them. If the key is too long for the cache, it stays incomplete.
func (s *lookupSource) evaluate(ctx context.Context, doc bsonx.Doc) error {
	s.key, s.locals = s.key[:0], s.locals[:0]
	if s.lookup.Local != nil {
		visitValues(bsonx.Document(doc), s.lookup.Local, func(v bsonx.Value) {
			s.locals = append(s.locals, v)
			s.extendKey(v)
		})
		s.key = append(s.key, 0)
	}
	s.ctx.Root, s.ctx.Meta = bsonx.Document(doc), source.MetaOf(s.Src)
	var made int64 // bytes of computed values that do not borrow from doc
	for i, v := range s.lookup.Let {
		var err error
		if s.letValues[i], err = v.Value.Eval(&s.ctx); err != nil {
			return err
		}
		s.extendKey(s.letValues[i])
		if _, borrowed := expr.FieldPath(v.Value); !borrowed {
			made += int64(len(s.letValues[i].Data))
		}
		if i%varsPerLook != 0 && made < memory.LargeValue {
			continue
		}
		if err := memory.Of(ctx).Value(made); err != nil {
			return err
		}
		if err := interrupt.Cause(ctx); err != nil {
			return err
		}
	}
	return nil
}

// extendKey appends v to the cache key, unless the key is already too long.
func (s *lookupSource) extendKey(v bsonx.Value) {
	if !s.cache.off && len(s.key) <= s.cache.limit {
		s.key = appendExactKey(s.key, v)
	}
}

func (s *lookupSource) runPipeline(ctx context.Context) (source.Source, error) {
	vars := s.lookup.Opts.Vars
	for i, v := range s.lookup.Let {
		vars = vars.WithConst(v.Name, s.letValues[i])
	}
	return s.env.Open(ctx, s.lookup.DB, s.lookup.From, s.lookup.joined(s.locals), vars)
}
