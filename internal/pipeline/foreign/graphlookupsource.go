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
func (g *graphLookup) Open(src source.Source, env *source.Env) source.Source {
	env = env.For(graphLookupBudget)
	s := &graphSource{
		Input: source.Input{Src: src}, graph: g, env: env, limit: env.Limit(), held: env.Hold(),
		ctx:  expr.Context{Now: g.opts.Now},
		pair: bsonx.NewBuilder(nil), array: bsonx.NewBuilder(nil), doc: document.NewSplicer(g.As, nil),
	}
	// Unlike in $lookup, null finds only documents with an explicit null, and not documents without
	// the field.
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

// graphSource runs a $graphLookup. Beyond the memory limit it spills the visited set, the queue of
// the search and, with a fused $unwind, the found documents.
type graphSource struct {
	source.Input
	graph   *graphLookup
	env     *source.Env
	limit   int
	held    memory.Holding
	ctx     expr.Context
	foreign foreignField
	doc     document.Splicer

	visited  spill.Set   // the _ids of the found documents
	seen     spill.Set   // the values that were searched for or are in frontier
	frontier spill.Deque // the values to search for next, each as {"": <value>}
	found    spill.Deque // the found documents, if a $unwind is fused
	array    *bsonx.Builder
	pair     *bsonx.Builder
	key      []byte
	err      error // the first error of reach
	running  interrupt.Running
	meter    interrupt.Meter
	count    int64 // the number of documents taken from found
}

// Next implements source.Source.
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

// nextUnwound implements Next for a stage with a fused $unwind.
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
				return u.Indexed(document.SetPath(s.doc.With(bsonx.Array(bsonx.Empty)),
					s.graph.As, bsonx.Missing), 0), nil
			}
		}
	}
}

// graphBatch is the number of values that one query searches for.
const graphBatch = 1000

// search runs the breadth-first search for doc, level by level, until it finds no new documents or
// reaches maxDepth.
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
	for depth := int64(0); s.frontier.First() < s.frontier.End() &&
		(s.graph.maxDepth < 0 || depth <= s.graph.maxDepth); depth++ {
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
			if err := s.foreign.each(ctx, values,
				func(doc bsonx.Doc) error { return s.visit(doc, depth) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// visit handles a found document. If the document was not found before, visit adds it to the
// results and its references to the next level.
func (s *graphSource) visit(doc bsonx.Doc, depth int64) error {
	id := doc.Lookup("_id")
	if id.IsMissing() {
		return mongoerr.New(40271, "Documents in the '%s.%s' namespace must contain an _id for de-duplication in $graphLookup", s.graph.db, s.graph.from)
	}
	// The key ignores the collation, which must not merge documents with different _ids.
	s.key = document.AppendGroupKey(s.key[:0], id)
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

// reachWork is the amount of work for a value that the search reaches, without the bytes of the
// value.
const reachWork = 8 * interrupt.Step

// reach adds v to the next level, unless the search has already seen it. It stores an error in
// s.err.
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

// reserve reserves the memory for a copy of a document of n bytes. It does nothing for n <
// source.LargeDocument.
func (s *graphSource) reserve(n int) error {
	if n < source.LargeDocument {
		return nil
	}
	room := n
	if s.graph.depthField != nil {
		room += n
	}
	if array := s.array.Bytes(); s.graph.Unwind == nil && len(array)+n > cap(array) {
		room += len(array) + (len(array)+n)/4 // growing the array copies it
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

// spillable returns the bytes that the search has in memory, without the array.
func (s *graphSource) spillable() int {
	return s.visited.Bytes() + s.seen.Bytes() + s.frontier.Bytes() + s.found.Bytes()
}

// fit keeps the search within the memory limit by spilling. It fails if the array alone exceeds the
// limit, or the disk may not be used.
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
	// With a long array, the rest may exceed the limit a little, so that it is not spilled in small
	// pieces.
	const piece = 4
	if array+spillable > s.limit && spillable < s.limit/piece {
		return nil
	}
	return s.spill()
}

// spill moves everything except the array to disk.
func (s *graphSource) spill() error {
	s.held.Shrink(int64(s.array.Len()))
	for _, part := range []interface{ Spill(dir string) error }{&s.visited, &s.seen, &s.frontier, &s.found} {
		if err := part.Spill(s.env.TempDir); err != nil {
			return err
		}
	}
	return nil
}

// Save implements source.Source. The found documents are already copies. The Splicer still borrows
// from the input document, and copies that part.
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
	return s.held.Beyond(int64(cap(s.array.Bytes())+s.visited.Bytes()+s.seen.Bytes())+lists) + s.doc.Kept() +
		s.foreign.kept() + s.Input.Kept()
}

// Close implements source.Source.
func (s *graphSource) Close() {
	s.visited.Close()
	s.seen.Close()
	s.frontier.Close()
	s.found.Close()
	s.foreign.Close()
	s.held.Release()
	s.Input.Close()
}
