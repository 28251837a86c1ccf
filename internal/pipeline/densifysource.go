package pipeline

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/document"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// densifyPart is the state of one partition: the fields that its generated documents have, and the
// next value to generate.
type densifyPart struct {
	tree    *document.Tree
	values  []bsonx.Value // the values for tree; the first one is for the densified field
	next    bsonx.Value   // the next value to generate; bsonx.Missing before the first document
	started bool
	// behind reports that the first document was returned before a generated document with a
	// smaller value.
	behind bool
}

// densifySource runs the $densify stage.
type densifySource struct {
	source.Input
	stage *densify
	limit int
	ctx   expr.Context
	out   *document.Writer

	parts map[string]*densifyPart
	// order contains the partitions in the order of their first documents. finish fills each
	// partition up to the end of the range.
	order []*densifyPart
	key   []byte
	bytes int
	held  memory.Holding
	made  int
	meter interrupt.Meter

	running interrupt.Running
	// isMade reports whether the stage generated the document that Next returned last.
	isMade bool

	// doc is the last input document. It was not returned yet, because generated documents come
	// before it.
	doc     bsonx.Doc
	value   bsonx.Value
	current *densifyPart
	least   bsonx.Value // the smallest value of all input documents so far
	most    bsonx.Value // the greatest value of all input documents so far
	ended   bool
}

// Save implements source.Source. It copies the input document that is not returned yet.
func (s *densifySource) Save() {
	if s.doc != nil {
		s.doc, s.value = s.doc.Clone(), s.value.Clone()
	}
	s.Src.Save()
}

// Kept implements memory.Keeper.
func (s *densifySource) Kept() int64 {
	return s.held.Beyond(int64(s.bytes)) + int64(len(s.doc)) + s.Input.Kept()
}

// Close implements source.Source.
func (s *densifySource) Close() {
	s.held.Release()
	s.Src.Close()
}

// Next returns the next input or generated document.
func (s *densifySource) Next(ctx context.Context) (bsonx.Doc, error) {
	s.isMade = false
	s.running.Set(ctx)
	if s.doc == nil && !s.ended {
		doc, err := s.Src.Next(ctx)
		if err != nil {
			return nil, err
		}
		if doc != nil {
			return s.take(doc)
		}
		s.ended = true
	}
	if s.doc != nil {
		return s.before()
	}
	return s.finish()
}

// take accepts the next input document, and returns the first document to yield: a generated
// document that precedes the input document, or the input document itself. A document without the
// densified field is returned as it is.
func (s *densifySource) take(doc bsonx.Doc) (bsonx.Doc, error) {
	s.ctx.Root = bsonx.Document(doc)
	v := doc.LookupPath(s.stage.path...)
	if expr.Nullish(v) {
		return doc, nil
	}
	if err := s.stage.check(v); err != nil {
		return nil, err
	}
	partition := make([]bsonx.Value, len(s.stage.partitionBy))
	for i, e := range s.stage.partitionBy {
		if err := s.meter.Did(interrupt.Step, &s.running); err != nil {
			return nil, err
		}
		var err error
		if partition[i], err = e.Eval(&s.ctx); err != nil {
			return nil, err
		}
	}
	part, err := s.part(partition)
	if err != nil {
		return nil, err
	}
	s.doc, s.value, s.current = doc, v, part
	if s.stage.kind == densifyFull {
		s.most = v.Clone()
		if s.least.IsMissing() {
			s.least = s.most
		}
	}
	if s.bytes > s.limit {
		return nil, mongoerr.New(mongoerr.ExceededMemoryLimit, "$densify exceeded memory limit of %d", s.limit)
	}
	if err := s.held.Hold(int64(s.bytes)); err != nil {
		return nil, err
	}
	if p := s.current; !p.started {
		p.started = true
		if err := s.begin(v); err != nil || s.doc == nil {
			return doc, err
		}
	} else if p.behind {
		p.behind = false
		var err error
		if p.next, err = s.stage.widened(p.next); err != nil {
			return nil, err
		}
	}
	return s.before()
}

// begin sets the first value to generate for the current partition, whose first document has the
// value v. If the full range begins at most one step before v, the document is returned before the
// generated ones, as in MongoDB: begin then sets s.doc to nil. The generated values begin with the
// least value in its original type, unless another document of the partition follows.
func (s *densifySource) begin(v bsonx.Value) error {
	p := s.current
	p.next = s.start(v)
	if s.stage.kind != densifyFull || bsonx.CompareValues(v, s.least) == 0 {
		return nil
	}
	after, err := s.stage.following(s.least)
	if err != nil {
		return err
	}
	if bsonx.CompareValues(v, after) <= 0 {
		s.doc, p.behind = nil, true
		return nil
	}
	p.next, err = s.stage.widened(s.least)
	return err
}

// start returns the lower end of the range for a partition whose first document has the value v.
func (s *densifySource) start(v bsonx.Value) bsonx.Value {
	switch s.stage.kind {
	case densifyBounds:
		return s.stage.lower
	case densifyFull:
		return s.least
	default:
		return v.Clone()
	}
}

// part returns the state of the partition with the given key values, and creates it if necessary.
// It fails if the operation has been interrupted.
func (s *densifySource) part(partition []bsonx.Value) (*densifyPart, error) {
	s.key = s.key[:0]
	for _, v := range partition {
		if err := s.meter.Did(interrupt.Step+len(v.Data), &s.running); err != nil {
			return nil, err
		}
		folded, err := s.stage.collation.Fold(v, &s.running)
		if err != nil {
			return nil, err
		}
		s.key = document.AppendGroupKey(s.key, folded)
	}
	if p, ok := s.parts[string(s.key)]; ok {
		return p, nil
	}
	p := &densifyPart{tree: &document.Tree{Value: document.NoValue}, values: []bsonx.Value{bsonx.Null}}
	for i, v := range partition {
		if err := s.meter.Did(parsing.PathWork+len(v.Data), &s.running); err != nil {
			return nil, err
		}
		if !v.IsMissing() && p.tree.Add(s.stage.partitions[i], len(p.values)) {
			p.values = append(p.values, v.Clone())
			s.bytes += len(v.Data)
		}
	}
	p.tree.Add(s.stage.path, 0)
	if s.stage.kind == densifyBounds {
		p.next, p.started = s.stage.lower, true
	}
	if s.stage.kind == densifyPartition {
		clear(s.parts) // the input is sorted by partition, so the earlier partition is complete
		s.bytes = 0
	} else {
		s.order = append(s.order, p)
	}
	const partBytes = 256
	s.bytes += partBytes + len(s.key)
	s.parts[string(s.key)] = p
	return p, nil
}

// before returns the next generated document that precedes the pending input document, or the input
// document itself.
func (s *densifySource) before() (bsonx.Doc, error) {
	p := s.current
	c := bsonx.CompareValues(p.next, s.value)
	within := s.stage.kind != densifyBounds || bsonx.CompareValues(p.next, s.stage.upper) < 0
	if c < 0 && within {
		return s.create(p)
	}
	if c == 0 {
		if p.next.Type != s.value.Type {
			// The values that are generated after a document have the numeric type of its value.
			p.next = s.value.Clone()
		}
		if err := s.advance(p); err != nil {
			return nil, err
		}
	}
	doc := s.doc
	s.doc = nil
	return doc, nil
}

// finish returns the next generated document after the end of the input, until every partition
// reaches the end of the range. It returns nil when all are filled.
func (s *densifySource) finish() (bsonx.Doc, error) {
	for ; len(s.order) > 0; s.order = s.order[1:] {
		p := s.order[0]
		if s.stage.kind == densifyBounds && bsonx.CompareValues(p.next, s.stage.upper) < 0 ||
			s.stage.kind == densifyFull && bsonx.CompareValues(p.next, s.most) <= 0 {
			return s.create(p)
		}
	}
	return nil, nil
}

// create generates the next document of partition p. It fails if the stage has generated more than
// limits.Densified.
func (s *densifySource) create(p *densifyPart) (bsonx.Doc, error) {
	s.isMade = true
	if s.made++; s.made > limits.Densified {
		return nil, mongoerr.New(5897900, "Generated %d documents in $densify, which is over the limit of %d. "+
			"Increase the 'internalQueryMaxAllowedDensifyDocs' parameter to allow more generated documents", s.made, limits.Densified)
	}
	p.values[0] = p.next
	s.out.Values = p.values
	doc, err := s.out.Document(p.tree, bsonx.Empty, &s.running)
	if err != nil {
		return nil, err
	}
	return doc, s.advance(p)
}

func (s *densifySource) advance(p *densifyPart) error {
	next, err := s.stage.following(p.next)
	p.next = next
	return err
}

// Meta implements source.MetaSource. A generated document has no metadata.
func (s *densifySource) Meta() *expr.Meta {
	if s.isMade {
		return source.WithoutScore(s.Src)
	}
	return s.Input.Meta()
}
