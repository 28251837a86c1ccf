package plan

import (
	"strconv"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/keystring"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
)

// indexScan reads the entries within bounds.
type indexScan struct {
	index    *indexinfo.Index
	bounds   []bounds.Intervals // one per field of the index
	backward bool
	filter   filter.Node // asked on the entry; nil: all
	paths    []string    // the fields that filter reads
	dedup    bool
	// noRecord is true where nothing above needs the record.
	noRecord bool
	// min and max replace bounds for the find options of these names: keys without field names.
	min, max bsonx.Doc
	keys     *exec.Bounds        // of min and max
	room     [2]bounds.Intervals // for the bounds of an index of so many fields
}

// newScan returns a scan of the whole index, to be restricted.
func newScan(x *indexinfo.Index) *indexScan {
	scan := &indexScan{index: x, dedup: x.IsMultikey()}
	scan.bounds = scan.room[:0]
	for range x.Fields {
		scan.bounds = append(scan.bounds, bounds.All)
	}
	return scan
}

// part returns a copy of the scan with bounds of its own.
func (n *indexScan) part() *indexScan {
	p := *n
	p.bounds = append(p.room[:0], n.bounds...)
	return &p
}

func (*indexScan) stage() string           { return "IXSCAN" }
func (*indexScan) input(int) node          { return nil }
func (n *indexScan) residual() filter.Node { return n.filter }
func (n *indexScan) reads() reading        { return reading{scan: n} }

func (n *indexScan) sign(dst []byte) []byte {
	dst = append(append(dst, ' '), n.index.Name...)
	if w := n.index.Wild; w != nil {
		dst = strconv.AppendQuote(dst, n.index.Fields[w.At+1].Path)
	}
	if n.backward {
		dst = append(dst, '-')
	}
	for _, ivs := range n.bounds {
		dst = append(dst, boundsMark(ivs))
	}
	if n.filter != nil {
		dst = append(dst, 'f')
	}
	return dst
}

func (n *indexScan) build(b builder) exec.Node {
	bounds := n.keyBounds(b.shared)
	if bounds == nil {
		return exec.NewEmptyScan(b.env)
	}
	return exec.NewIndexScan(b.env, exec.IndexScanOptions{
		Coll: b.q.Coll, Index: n.index.Stored, Bounds: bounds, Backward: n.backward,
		Filter: b.predicate(n.filter), FilterPaths: n.paths, Dedup: n.dedup, NoRecord: n.noRecord,
	})
}

func (*indexScan) again(b builder, in exec.Node) exec.Node { return b.fetchAgain(in) }

func (n *indexScan) describe(w *stageWriter, run exec.Node) {
	w.begin(n, run)
	w.indexKeys(n.index)
	w.indexFlags(n.index)
	w.b.Int32("indexVersion", 2)
	w.b.String("direction", direction(n.backward))
	w.bounds(n)
	if run != nil {
		s := run.Stats()
		w.b.Int32("keysExamined", int32(s.KeysExamined))
		w.b.Int32("seeks", int32(s.Seeks))
		w.b.Int32("dupsTested", int32(s.DupsTested))
		w.b.Int32("dupsDropped", int32(s.DupsDropped))
	}
}

// keyBounds encodes the bounds of a scan; nil where they hold nothing.
func (n *indexScan) keyBounds(shared *bounds.Shared) *exec.Bounds {
	if n.min != nil || n.max != nil {
		return n.keys
	}
	for _, ivs := range n.bounds {
		if len(ivs) == 0 {
			return nil
		}
	}
	if b := bounds.Simple(n.bounds, n.index.Fields); b != nil {
		return b
	}
	b := &exec.Bounds{Desc: make([]bool, len(n.bounds)), Fields: make([][]exec.Range, len(n.bounds))}
	for f, ivs := range n.bounds {
		b.Desc[f] = n.index.Fields[f].Desc
		b.Fields[f] = shared.Ranges(ivs, b.Desc[f])
	}
	if n.backward {
		b.Upper = bounds.LastKey(b.Fields)
	} else {
		b.Lower = bounds.FirstKey(b.Fields)
	}
	return b
}

// bindMinMax encodes the find options min and max: whole keys, [min, max). It fails where the
// operation ends.
func (n *indexScan) bindMinMax(low, high bsonx.Doc, r *interrupt.Running) error {
	n.min, n.max, n.keys = low, high, &exec.Bounds{}
	var err error
	if n.keys.Lower, err = n.wholeKey(low, r); err != nil {
		return err
	}
	n.keys.Upper, err = n.wholeKey(high, r)
	return err
}

func (n *indexScan) wholeKey(key bsonx.Doc, r *interrupt.Running) ([]byte, error) {
	if key == nil {
		return nil, nil
	}
	out := []byte{}
	i := 0
	for it := key.Iter(); it.Next(); i++ {
		v, err := n.index.Collation.Fold(it.Value(), r)
		if err != nil {
			return nil, err
		}
		out = keystring.Append(out, v, n.index.Fields[i].Desc)
	}
	return out, nil
}

// boundPaths bounds the path of a scan of a wildcard index.
func (n *indexScan) boundPaths() {
	w := n.index.Wild
	path := n.index.Fields[w.At+1].Path
	switch {
	case w.Generic:
		n.bounds[w.At] = bounds.Intervals{bounds.Point(bsonx.MinKey), {Low: bsonx.String(""), High: bsonx.Document(bsonx.Empty), LowIncl: true}}
	case len(n.bounds[w.At+1].Intersect(bounds.Documents)) > 0:
		n.bounds[w.At+1] = bounds.All
		below := bounds.Interval{Low: bsonx.String(path + "."), High: bsonx.String(path + "/"), LowIncl: true}
		n.bounds[w.At] = bounds.Intervals{bounds.Point(bsonx.String(path)), below}
	default:
		n.bounds[w.At] = bounds.Intervals{bounds.Point(bsonx.String(path))}
		return
	}
	n.dedup = true // a document has an entry for each path
}

// hasOnePath reports whether all entries of a scan are of the paths of the index's fields.
func (n *indexScan) hasOnePath() bool {
	return n.index.Wild == nil || n.bounds[n.index.Wild.At].IsPoint()
}

// distinctField returns the position of the index field whose values are those of the path in the records of the scan, or -1.
func (n *indexScan) distinctField(path string) int {
	x := n.index
	f := x.FieldOf(path)
	switch {
	case f < 0 || x.Bits(f) != 0 || x.IsMultikey() && bounds.HasNumber(path):
		return -1
	case x.Wild != nil && (f != x.Lead() || x.IsMultikey()):
		return -1 // in a wildcard index the path stands before the value
	}
	return f
}

// boundsMark tells bounds that restrict nothing, single values and others apart.
func boundsMark(ivs bounds.Intervals) byte {
	switch {
	case ivs.IsAll():
		return '*'
	case ivs.IsPoints():
		return '='
	default:
		return '<'
	}
}
