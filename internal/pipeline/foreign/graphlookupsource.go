package foreign

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
)

// Open implements parsing.Stage.
func (g *GraphLookup) Open(src source.Source, env *source.Env) source.Source {
	s := &graphSource{
		Input: source.Input{Src: src}, graph: g, env: env, limit: env.Limit(), held: env.Hold(), ctx: expr.Context{Now: g.opts.Now},
		pair: bsonx.NewBuilder(nil), array: bsonx.NewBuilder(nil), doc: document.NewSplicer(g.As, nil),
	}
	// Null finds documents with a null, not those without the field.
	predicates := []bsonx.Value{bsonx.Document(bsonx.NewDoc(g.connectTo, bsonx.NewDoc("$exists", true)))}
	if !g.restrict.IsEmpty() {
		predicates = append(predicates, bsonx.Document(g.restrict))
	}
	s.frontier, s.found = spill.NewDeque(env.Hold()), spill.NewDeque(env.Hold())
	s.foreign = foreignField{
		db: g.db, name: g.from, path: g.connectTo, opts: g.opts, env: env,
		before: []bsonx.Value{bsonx.Document(bsonx.NewDoc("$match", bsonx.NewDoc("$and", predicates)))},
	}
	return s
}

// graphSource is $graphLookup. What a search has seen, what it will search for, and what it found where that is taken apart, goes
// to files beyond the memory limit.
type graphSource struct {
	source.Input
	graph   *GraphLookup
	env     *source.Env
	limit   int
	held    memory.Holding
	ctx     expr.Context
	foreign foreignField
	doc     document.Splicer

	visited  spill.Set   // the _ids of the documents that were found
	seen     spill.Set   // the values that were searched for, or will be
	frontier spill.Deque // what is searched for next, as {"": <value>}
	found    spill.Deque // the documents, where they are taken apart
	array    *bsonx.Builder
	pair     *bsonx.Builder
	key      []byte
	err      error // of reach
	running  interrupt.Running
	meter    interrupt.Meter
	count    int64 // of the documents that were taken from found
}

// Next implements Source.
func (s *graphSource) Next(ctx context.Context) (bsonx.Doc, error) {
	if s.graph.Unwind != nil {
		return s.nextUnwound(ctx)
	}
	doc, err := s.Src.Next(ctx)
	if err != nil || doc == nil {
		return nil, err
	}
	s.array.Reset(s.array.Bytes()[:0])
	s.array.StartArray()
	if err := s.search(ctx, doc); err != nil {
		return nil, err
	}
	s.array.End()
	s.doc.Start(doc)
	return s.doc.With(bsonx.Array(s.array.Bytes())), nil
}

// nextUnwound is Next of a stage that takes its array apart.
func (s *graphSource) nextUnwound(ctx context.Context) (bsonx.Doc, error) {
	u := s.graph.Unwind
	for {
		if s.found.First() < s.found.End() {
			found, err := s.found.Doc(s.found.First())
			if err != nil {
				return nil, err
			}
			s.found.Release()
			s.count++
			return u.Indexed(s.doc.With(bsonx.Document(found)), s.count), nil
		}
		doc, err := s.Src.Next(ctx)
		if err != nil || doc == nil {
			return nil, err
		}
		s.count = 0
		s.found.Reset()
		if err := s.search(ctx, doc); err != nil {
			return nil, err
		}
		if empty := s.found.End() == 0; !empty || u.Keep {
			s.doc.Start(doc)
			if empty {
				return u.Indexed(document.SetPath(s.doc.With(bsonx.Array(bsonx.Empty)), s.graph.As, bsonx.Missing), 0), nil
			}
		}
	}
}

// graphBatch is how many values one query searches for.
const graphBatch = 1000

// search searches level by level until there is nothing new.
func (s *graphSource) search(ctx context.Context, doc bsonx.Doc) error {
	s.running.Set(ctx)
	s.visited.Reset()
	s.seen.Reset()
	s.frontier.Reset()
	s.ctx.Root, s.ctx.Meta = bsonx.Document(doc), source.MetaOf(s.Src)
	start, err := s.graph.start.Eval(&s.ctx)
	if err != nil {
		return err
	}
	if visitValues(start, nil, s.reach); s.err != nil {
		return s.err
	}
	for depth := int64(0); s.frontier.First() < s.frontier.End() && (s.graph.maxDepth < 0 || depth <= s.graph.maxDepth); depth++ {
		for end := s.frontier.End(); s.frontier.First() < end; {
			var values []bsonx.Value
			for len(values) < graphBatch && s.frontier.First() < end {
				pair, err := s.frontier.Doc(s.frontier.First())
				if err != nil {
					return err
				}
				values = append(values, pair.First().Value)
				s.frontier.Release()
			}
			if err := s.foreign.each(ctx, values, func(doc bsonx.Doc) error { return s.visit(doc, depth) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// visit takes a document that was found, for the first time or again.
func (s *graphSource) visit(doc bsonx.Doc, depth int64) error {
	id := doc.Lookup("_id")
	if id.IsMissing() {
		return mongoerr.New(40271, "Documents in the '%s.%s' namespace must contain an _id for de-duplication in $graphLookup", s.graph.db, s.graph.from)
	}
	s.key = document.AppendGroupKey(s.key[:0], id) // whatever the collation says, these are documents
	fresh, err := s.visited.Add(s.key)
	if err != nil || !fresh {
		return err
	}
	if visitValues(bsonx.Document(doc), s.graph.connect, s.reach); s.err != nil {
		return s.err
	}
	if err := s.reserve(len(doc)); err != nil {
		return err
	}
	if s.graph.depthField != nil {
		doc = document.SetPath(doc, s.graph.depthField, bsonx.Int64(depth))
	}
	if s.graph.Unwind != nil {
		s.found.Push(s.found.Copy(doc))
	} else {
		s.array.Elem(bsonx.Document(doc))
	}
	return s.fit()
}

// reachWork is the work on a value that a search may go on with, without its bytes.
const reachWork = 8 * interrupt.Step

// reach adds a value to the next level, unless it was searched for.
func (s *graphSource) reach(v bsonx.Value) {
	if s.err != nil {
		return
	}
	if s.err = s.meter.Did(reachWork+len(v.Data), &s.running); s.err != nil {
		return
	}
	folded, err := s.graph.opts.Collation.Fold(v, &s.running)
	if err != nil {
		s.err = err
		return
	}
	s.key = document.AppendGroupKey(s.key[:0], folded)
	fresh, err := s.seen.Add(s.key)
	if err != nil || !fresh {
		s.err = err
		return
	}
	s.pair.Reset(s.pair.Bytes()[:0])
	s.pair.StartDoc()
	s.pair.Value("", v)
	s.pair.End()
	s.frontier.Push(s.frontier.Copy(s.pair.Bytes()))
}

// reserve holds the memory for a copy of a document of n bytes. It does nothing for less than
// largeDocument.
func (s *graphSource) reserve(n int) error {
	if n < source.LargeDocument {
		return nil
	}
	room := n
	if s.graph.depthField != nil {
		room += n
	}
	if array := s.array.Bytes(); s.graph.Unwind == nil && len(array)+n > cap(array) {
		room += len(array) + (len(array)+n)/4 // the array moves to a larger place
	}
	spills := s.env != nil && s.env.AllowDiskUse
	if ok, err := source.Fits(&s.held, cap(s.array.Bytes())+s.spillable()+room, spills); ok || err != nil {
		return err
	}
	if err := s.spill(); err != nil {
		return err
	}
	return s.held.Hold(int64(cap(s.array.Bytes()) + room))
}

// spillable is what the search has in memory beside the array.
func (s *graphSource) spillable() int {
	return s.visited.Bytes() + s.seen.Bytes() + s.frontier.Bytes() + s.found.Bytes()
}

// fit keeps the search within the memory limit. An array is in memory as a whole.
func (s *graphSource) fit() error {
	array := s.array.Len()
	spillable := s.spillable()
	if array+spillable <= s.limit {
		spills := s.env != nil && s.env.AllowDiskUse && spillable > array
		if ok, err := source.Fits(&s.held, array+spillable, spills); ok || err != nil {
			return err
		}
	}
	if array > s.limit || s.env == nil || !s.env.AllowDiskUse {
		return mongoerr.New(40099, "$graphLookup reached maximum memory consumption")
	}
	// Beside a long array the rest may take some more, so that it is not spilled in small pieces.
	const piece = 4
	if array+spillable > s.limit && spillable < s.limit/piece {
		return nil
	}
	return s.spill()
}

// spill moves all but the array to the disk.
func (s *graphSource) spill() error {
	s.held.Shrink(int64(s.array.Len()))
	for _, part := range []interface{ Spill(dir string) error }{&s.visited, &s.seen, &s.frontier, &s.found} {
		if err := part.Spill(s.env.TempDir); err != nil {
			return err
		}
	}
	return nil
}

// Save implements Source. What was found is the stage's own, but for the place where the document had it.
func (s *graphSource) Save() {
	if s.graph.Unwind == nil {
		s.doc.Forget()
		source.IdleBuilder(s.array)
	} else {
		s.doc.Save()
	}
	s.ctx.Rest()
	s.Input.Save()
}

// Kept implements memory.Keeper.
func (s *graphSource) Kept() int64 {
	lists := s.frontier.Held() + s.found.Held()
	return s.held.Beyond(int64(cap(s.array.Bytes())+s.visited.Bytes()+s.seen.Bytes())+lists) + s.doc.Kept() + s.foreign.kept() + s.Input.Kept()
}

// Close implements Source.
func (s *graphSource) Close() {
	s.visited.Close()
	s.seen.Close()
	s.frontier.Close()
	s.found.Close()
	s.foreign.Close()
	s.held.Release()
	s.Input.Close()
}
