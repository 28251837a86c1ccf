package node

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

// IndexScan reads the entries within bounds.
type IndexScan struct {
	Index    *indexinfo.Index
	Bounds   []bounds.Intervals // one per field of the index
	Backward bool
	Filter   filter.Node // asked on the entry; nil: all
	Paths    []string    // the fields that filter reads
	Dedup    bool
	// NoRecord is true where nothing above needs the record.
	NoRecord bool
	// Min and max replace bounds for the find options of these names: keys without field names.
	Min, Max bsonx.Doc
	Keys     *exec.Bounds        // of min and max
	room     [2]bounds.Intervals // for the bounds of an index of so many fields
}

// NewScan returns a scan of the whole index, to be restricted.
func NewScan(x *indexinfo.Index) *IndexScan {
	scan := &IndexScan{Index: x, Dedup: x.IsMultikey()}
	scan.Bounds = scan.room[:0]
	for range x.Fields {
		scan.Bounds = append(scan.Bounds, bounds.All)
	}
	return scan
}

// Part returns a copy of the scan with bounds of its own.
func (n *IndexScan) Part() *IndexScan {
	p := *n
	p.Bounds = append(p.room[:0], n.Bounds...)
	return &p
}

func (*IndexScan) stage() string           { return "IXSCAN" }
func (*IndexScan) input(int) Node          { return nil }
func (n *IndexScan) residual() filter.Node { return n.Filter }
func (n *IndexScan) reads() reading        { return reading{scan: n} }

func (n *IndexScan) sign(dst []byte) []byte {
	dst = append(append(dst, ' '), n.Index.Name...)
	if w := n.Index.Wild; w != nil {
		dst = strconv.AppendQuote(dst, n.Index.Fields[w.At+1].Path)
	}
	if n.Backward {
		dst = append(dst, '-')
	}
	for _, ivs := range n.Bounds {
		dst = append(dst, boundsMark(ivs))
	}
	if n.Filter != nil {
		dst = append(dst, 'f')
	}
	return dst
}

func (n *IndexScan) build(b Builder) exec.Node {
	bounds := n.keyBounds(b.Shared)
	if bounds == nil {
		return exec.NewEmptyScan(b.Env)
	}
	return exec.NewIndexScan(b.Env, exec.IndexScanOptions{
		Coll: b.Q.Coll, Index: n.Index.Stored, Bounds: bounds, Backward: n.Backward,
		Filter: b.predicate(n.Filter), FilterPaths: n.Paths, Dedup: n.Dedup, NoRecord: n.NoRecord,
	})
}

func (*IndexScan) again(b Builder, in exec.Node) exec.Node { return b.fetchAgain(in) }

func (n *IndexScan) describe(w *Writer, run exec.Node) {
	w.begin(n, run)
	w.indexKeys(n.Index)
	w.indexFlags(n.Index)
	w.B.Int32("indexVersion", 2)
	w.B.String("direction", direction(n.Backward))
	w.bounds(n)
	if run != nil {
		s := run.Stats()
		w.B.Int32("keysExamined", int32(s.KeysExamined))
		w.B.Int32("seeks", int32(s.Seeks))
		w.B.Int32("dupsTested", int32(s.DupsTested))
		w.B.Int32("dupsDropped", int32(s.DupsDropped))
	}
}

// keyBounds encodes the bounds of a scan; nil where they hold nothing.
func (n *IndexScan) keyBounds(shared *bounds.Shared) *exec.Bounds {
	if n.Min != nil || n.Max != nil {
		return n.Keys
	}
	for _, ivs := range n.Bounds {
		if len(ivs) == 0 {
			return nil
		}
	}
	if b := bounds.Simple(n.Bounds, n.Index.Fields); b != nil {
		return b
	}
	b := &exec.Bounds{Desc: make([]bool, len(n.Bounds)), Fields: make([][]exec.Range, len(n.Bounds))}
	for f, ivs := range n.Bounds {
		b.Desc[f] = n.Index.Fields[f].Desc
		b.Fields[f] = shared.Ranges(ivs, b.Desc[f])
	}
	if n.Backward {
		b.Upper = bounds.LastKey(b.Fields)
	} else {
		b.Lower = bounds.FirstKey(b.Fields)
	}
	return b
}

// BindMinMax encodes the find options min and max: whole keys, [min, max). It fails where the
// operation ends.
func (n *IndexScan) BindMinMax(low, high bsonx.Doc, r *interrupt.Running) error {
	n.Min, n.Max, n.Keys = low, high, &exec.Bounds{}
	var err error
	if n.Keys.Lower, err = n.wholeKey(low, r); err != nil {
		return err
	}
	n.Keys.Upper, err = n.wholeKey(high, r)
	return err
}

func (n *IndexScan) wholeKey(key bsonx.Doc, r *interrupt.Running) ([]byte, error) {
	if key == nil {
		return nil, nil
	}
	out := []byte{}
	i := 0
	for it := key.Iter(); it.Next(); i++ {
		v, err := n.Index.Collation.Fold(it.Value(), r)
		if err != nil {
			return nil, err
		}
		out = keystring.Append(out, v, n.Index.Fields[i].Desc)
	}
	return out, nil
}

// BoundPaths bounds the path of a scan of a wildcard index.
func (n *IndexScan) BoundPaths() {
	w := n.Index.Wild
	path := n.Index.Fields[w.At+1].Path
	switch {
	case w.Generic:
		strings := bounds.Interval{Low: bsonx.String(""), High: bsonx.Document(bsonx.Empty), LowIncl: true}
		n.Bounds[w.At] = bounds.Intervals{bounds.Point(bsonx.MinKey), strings}
	case len(n.Bounds[w.At+1].Intersect(bounds.Documents)) > 0:
		n.Bounds[w.At+1] = bounds.All
		below := bounds.Interval{Low: bsonx.String(path + "."), High: bsonx.String(path + "/"), LowIncl: true}
		n.Bounds[w.At] = bounds.Intervals{bounds.Point(bsonx.String(path)), below}
	default:
		n.Bounds[w.At] = bounds.Intervals{bounds.Point(bsonx.String(path))}
		return
	}
	n.Dedup = true // a document has an entry for each path
}

// HasOnePath reports whether all entries of a scan are of the paths of the index's fields.
func (n *IndexScan) HasOnePath() bool {
	return n.Index.Wild == nil || n.Bounds[n.Index.Wild.At].IsPoint()
}

// DistinctField returns the position of the index field whose values are those of the path in the
// records of the scan, or -1.
func (n *IndexScan) DistinctField(path string) int {
	x := n.Index
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
