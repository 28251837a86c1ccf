package plan

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/projection"
	"github.com/sheafdb/sheaf/internal/table"
)

// builder makes the operators of a plan. The tree that it makes has the shape of the plan, but for express, which is
// only a name.
type builder struct {
	env     *exec.Env
	q       *query.Query
	whole   *filter.Filter
	records Counter
	shared  *bounds.Shared
}

func (b *builder) build(n node) exec.Node {
	made := b.bare(n)
	if b.q.Timed {
		if _, named := n.(*express); !named {
			return exec.Timed(made)
		}
	}
	return made
}

func (b *builder) bare(n node) exec.Node {
	switch n := n.(type) {
	case *collScan:
		return b.collScan(n)
	case *idHack:
		return exec.NewIDHack(b.env, b.q.Coll, n.id)
	case *indexScan:
		return b.indexScan(n)
	case *fetch:
		return exec.NewFetch(b.env, b.q.Coll, b.build(n.in), b.predicate(n.filter))
	case *geoNear:
		return b.geoNear(n)
	case *or:
		return exec.NewOr(b.env, b.buildAll(n.in))
	case *sortMerge:
		return b.sortMerge(n)
	case *sortNode:
		return b.sort(n)
	case *limit:
		return exec.NewLimit(b.env, b.build(n.in), n.n)
	case *skip:
		return exec.NewSkip(b.env, b.build(n.in), n.n)
	case *project:
		return b.project(n)
	case *returnKey:
		return b.returnKey(n)
	case *recordID:
		return exec.NewProject(b.env, b.build(n.in), recordIDs(b.q.Coll))
	case *express:
		return b.build(n.in)
	case *subplan:
		return exec.NewPass(b.env, b.build(n.in))
	case *count:
		return exec.NewCount(b.env, b.build(n.in), n.skip, n.limit)
	case *countScan:
		return b.countScan(n)
	case *fastCount:
		return exec.NewFastCount(b.env, b.records, n.skip, n.limit)
	case *distinctScan:
		return b.distinctScan(n)
	case *textMatch:
		return exec.NewTextMatch(b.env, b.build(n.in), n.search.spec, n.search.query)
	case *textOr:
		return b.textOr(n)
	case *eof:
		return exec.NewEOF(b.env)
	default:
		panic("plan: node without an operator")
	}
}

func (b *builder) buildAll(in []node) []exec.Node {
	out := make([]exec.Node, len(in))
	for i, n := range in {
		out[i] = b.build(n)
	}
	return out
}

// predicate makes a residual matchable. Nodes that need the filter that they were parsed in, with its clock and
// variables, are left to the whole filter: what matches the whole matches each part.
func (b *builder) predicate(n filter.Node) table.Predicate {
	if n == nil {
		return nil
	}
	stateful := false
	filter.WalkNodes(n, func(n filter.Node) bool {
		switch n.Kind() {
		case filter.KindExpr, filter.KindWhere, filter.KindSampleRate, filter.KindText, filter.KindJSONSchema:
			stateful = true
		default: // the others need nothing here
		}
		return !stateful
	})
	if stateful || n == b.whole.Root {
		return b.whole
	}
	return b.whole.Part(n)
}

func (b *builder) collScan(n *collScan) exec.Node {
	o := exec.CollScanOptions{Coll: b.q.Coll, Filter: b.predicate(n.filter), Backward: n.backward, Tailable: n.tailable}
	if n.hasIDs {
		prefix := b.q.Coll.RecordPrefix()
		r := bounds.RangeOf(n.ids, false)
		o.Lower = slices.Concat(prefix, r.Lo)
		o.Upper = slices.Concat(prefix, r.Hi)
	}
	return exec.NewCollScan(b.env, o)
}

func (b *builder) indexScan(n *indexScan) exec.Node {
	bounds := keyBounds(n, b.shared)
	if bounds == nil {
		return exec.NewEmptyScan(b.env)
	}
	return exec.NewIndexScan(b.env, exec.IndexScanOptions{
		Coll: b.q.Coll, Index: n.index.Stored, Bounds: bounds, Backward: n.backward,
		Filter: b.predicate(n.filter), FilterPaths: n.paths, Dedup: n.dedup, NoRecord: n.noRecord,
	})
}

func (b *builder) countScan(n *countScan) exec.Node {
	bounds := keyBounds(n.scan, b.shared)
	if bounds == nil {
		return exec.NewEmptyScan(b.env)
	}
	return exec.NewCountScan(b.env, b.q.Coll, n.scan.index.Stored, bounds, n.scan.dedup)
}

func (b *builder) distinctScan(n *distinctScan) exec.Node {
	bounds := keyBounds(n.scan, b.shared)
	if bounds == nil {
		return exec.NewEmptyScan(b.env)
	}
	return exec.NewDistinctScan(b.env, exec.DistinctScanOptions{
		Coll: b.q.Coll, Index: n.scan.index.Stored, Bounds: bounds, Backward: n.scan.backward, Fields: n.fields,
		Filter: b.predicate(n.scan.filter), FilterPaths: n.scan.paths,
	})
}

func (b *builder) sortMerge(n *sortMerge) exec.Node {
	key := exec.EntryKey(query.SortPattern(n.pattern))
	if n.documents {
		key = query.SortKey(n.pattern, b.q.Collation)
	}
	return exec.NewSortMerge(b.env, b.q.Coll, b.buildAll(n.in), key, n.dedup)
}

func (b *builder) sort(n *sortNode) *exec.Sort {
	key := query.SortKey(n.pattern, b.q.Collation)
	if n.entries {
		key = exec.EntryKey(query.SortPattern(n.pattern))
	}
	s := exec.NewSort(b.env, b.build(n.in), key, n.limit)
	if b.q.ReadsIndexKey() {
		s.KeepIndexKeys()
	}
	if n.entries {
		s.Entries()
		return s
	}
	s.ByDocument(query.SortPattern(n.pattern))
	if sumsScores(n.in) {
		s.Scored()
	}
	if has[*geoNear](n.in) {
		s.Located()
	}
	if isRanked(n.in) {
		s.Ranked(n.pattern.Len() == 1)
	}
	return s
}

// returnKey builds the option returnKey. A sort keeps documents only: it is to keep the keys in their place.
func (b *builder) returnKey(n *returnKey) exec.Node {
	in, skipped := n.in, int64(0)
	if s, ok := in.(*skip); ok {
		in, skipped = s.in, s.n
	}
	s, ok := in.(*sortNode)
	if !ok {
		return exec.NewProject(b.env, b.build(n.in), b.returnedKey())
	}
	sort := b.sort(s)
	sort.Keep(b.returnedKey())
	if skipped > 0 {
		return exec.NewPass(b.env, exec.NewSkip(b.env, sort, skipped))
	}
	return exec.NewPass(b.env, sort)
}

// returnedKey replaces documents by index keys. Of the projection it applies the sort keys only.
func (b *builder) returnedKey() exec.Projector {
	key := exec.ReturnedKey()
	if !b.q.ReturnsSortKey() {
		return key
	}
	p, err := projection.Parse(sortKeyFields(b.q.ShownProjection()), projection.Options{})
	if err != nil {
		return func(dst []byte, _ *exec.Row) ([]byte, error) { return dst, err }
	}
	reader := query.NewMetaReader(b.q, p)
	var room []byte
	return func(dst []byte, row *exec.Row) ([]byte, error) {
		var err error
		if room, err = key(room[:0], row); err != nil {
			return dst, err
		}
		meta := new(projection.Meta)
		if err := reader.Read(meta, row); err != nil {
			return dst, err
		}
		return p.Apply(dst, room, meta)
	}
}

// sortKeyFields returns the fields of a projection that are sort keys.
func sortKeyFields(spec bsonx.Doc) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for it := spec.Iter(); it.Next(); {
		v := it.Value()
		if v.Type != bsonx.TypeDocument {
			continue
		}
		if kind := v.Doc().Lookup("$meta"); kind.Type == bsonx.TypeString && kind.Str() == query.MetaSortKey {
			b.ValueBytes(it.Key(), v)
		}
	}
	b.End()
	return b.Bytes()
}

func (b *builder) project(n *project) exec.Node {
	if s, ok := n.in.(*sortNode); ok && n.p.IsSimple() {
		// The sort need not keep what will not be asked for.
		sort := b.sort(s)
		sort.Keep(b.projector(n.p))
		return exec.NewPass(b.env, sort)
	}
	return b.projected(n, b.build(n.in))
}

// projected builds a projection that is not part of a sort.
func (b *builder) projected(n *project, in exec.Node) exec.Node {
	apply := b.projector(n.p)
	if n.covered == nil {
		return exec.NewProject(b.env, in, apply)
	}
	paths, _ := n.p.Reads()
	var nested exec.Projector
	if !n.p.IsSimple() {
		nested = apply
	}
	return exec.NewProjectCovered(b.env, in, paths, nested, apply)
}

func (b *builder) projector(p *projection.Projection) exec.Projector {
	var apply exec.Projector = func(dst []byte, row *exec.Row) ([]byte, error) {
		return p.Apply(dst, row.Doc, nil)
	}
	if len(p.MetaKinds()) > 0 {
		apply = query.NewMetaProjector(b.q, p)
	}
	if computed, _ := p.Computed(); len(computed) == 0 {
		return apply
	}
	return func(dst []byte, row *exec.Row) ([]byte, error) {
		out, err := apply(dst, row)
		if err != nil {
			return nil, err
		}
		return out, bsonx.Doc(out[len(dst):]).CheckResult()
	}
}

// recordIDs adds $recordId: what the records are clustered by, _id or the insertion sequence.
func recordIDs(coll *table.Collection) exec.Projector {
	return func(dst []byte, row *exec.Row) ([]byte, error) {
		id, err := query.RecordIDOf(coll, row)
		if err != nil {
			return nil, err
		}
		out := bsonx.NewBuilder(dst)
		out.StartDoc()
		out.Fields(row.Doc)
		out.Value("$recordId", id)
		out.End()
		return out.Bytes(), nil
	}
}
