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

// IndexScan reads the entries of an index that are within bounds.
type IndexScan struct {
	Index    *indexinfo.Index
	Bounds   []bounds.Intervals // one for each field of the index
	Backward bool
	Filter   filter.Node // evaluated on the entry; nil means all
	Paths    []string    // the index fields that Filter reads
	Dedup    bool
	// NoRecord is true if no node above needs the record.
	NoRecord bool
	// Min and Max are the find options of these names, keys without field names. If one is set,
	// Keys replaces Bounds.
	Min, Max bsonx.Doc
	Keys     *exec.Bounds        // encoded Min and Max
	room     [2]bounds.Intervals // room for Bounds, if the index has at most two fields
}

// NewScan returns a scan of the whole index, whose bounds the caller restricts.
func NewScan(x *indexinfo.Index) *IndexScan {
	scan := &IndexScan{Index: x, Dedup: x.IsMultikey()}
	scan.Bounds = scan.room[:0]
	for range x.Fields {
		scan.Bounds = append(scan.Bounds, bounds.All)
	}
	return scan
}

// Part returns a copy of the scan with its own bounds.
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

// keyBounds encodes the bounds of the scan. It returns nil if they contain no value.
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

// BindMinMax encodes the find options min and max: whole keys, [min, max). It fails if the
// operation has ended.
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

// BoundPaths bounds the field of a wildcard index that holds the path.
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

// HasOnePath reports whether all entries of the scan belong to the paths of the index's fields.
func (n *IndexScan) HasOnePath() bool {
	return n.Index.Wild == nil || n.Bounds[n.Index.Wild.At].IsPoint()
}

// DistinctField returns the position of the index field that holds exactly the values at the path
// in the scanned records, or -1.
func (n *IndexScan) DistinctField(path string) int {
	x := n.Index
	f := x.FieldOf(path)
	switch {
	case f < 0 || x.Bits(f) != 0 || x.IsMultikey() && bounds.HasNumber(path):
		return -1
	case x.Wild != nil && (f != x.Lead() || x.IsMultikey()):
		return -1 // in a wildcard index the path precedes the value
	}
	return f
}

// boundsMark distinguishes in a signature bounds that restrict nothing, single values, and others.
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
