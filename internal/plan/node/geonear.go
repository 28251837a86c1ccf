package node

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/geo"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
)

// GeoNear yields records in the order of their distance from a point, with a geo index.
type GeoNear struct {
	Near   *filter.GeoNear
	Field  int         // position of the geo field in the index
	Scan   *IndexScan  // the index, and the bounds of its other fields
	Filter filter.Node // nil means all
}

func (n *GeoNear) stage() string {
	if n.Scan.Index.Kind == index.Plane {
		return "GEO_NEAR_2D"
	}
	return "GEO_NEAR_2DSPHERE"
}

func (*GeoNear) input(int) Node          { return nil }
func (n *GeoNear) residual() filter.Node { return n.Filter }
func (n *GeoNear) reads() reading        { return reading{scan: n.Scan} }

func (n *GeoNear) sign(dst []byte) []byte {
	dst = append(append(dst, ' '), n.Scan.Index.Name...)
	for _, ivs := range n.Scan.Bounds {
		dst = append(dst, boundsMark(ivs))
	}
	return dst
}

func (n *GeoNear) build(b Builder) exec.Node {
	x := n.Scan.Index
	o := exec.GeoNearOptions{
		Coll: b.Q.Coll, Index: x.Stored, Field: n.Field, Near: n.Near,
		Filter: b.predicate(n.Filter), Dedup: x.IsMultikey(),
		Located: b.Q.Located, Desc: make([]bool, len(x.Fields)), Fields: make([][]exec.Range, len(x.Fields)),
	}
	if x.Kind == index.Sphere {
		o.Space = geo.Around(&n.Near.Center)
	} else {
		grid := index.GridOf(x.Stored.Spec)
		o.Space, o.Refused = grid.Around(&n.Near.Center), checkCenter(grid, &n.Near.Center)
	}
	for f, ivs := range n.Scan.Bounds {
		if len(ivs) == 0 {
			return exec.NewEOF(b.Env)
		}
		o.Desc[f] = x.Fields[f].Desc
		o.Fields[f] = b.Shared.Ranges(ivs, o.Desc[f])
	}
	o.Encode = func(iv geo.Interval) exec.Range { return bounds.RangeOf(x.Cells(iv), false) }
	return exec.NewGeoNear(b.Env, o)
}

// checkCenter fails if a point lies outside of a 2d index's area.
func checkCenter(g geo.Grid, p *geo.Point) error {
	if g.Has(p.X, p.Y) {
		return nil
	}
	return mongoerr.New(16433, "point not in interval of [ %g, %g ] :: caused by :: %s", g.Min, g.Max,
		bsonx.FormatShell(bsonx.Document(bsonx.NewDoc("0", p.X, "1", p.Y))))
}

func (*GeoNear) again(b Builder, in exec.Node) exec.Node { return b.fetchAgain(in) }

func (n *GeoNear) describe(w *Writer, run exec.Node) {
	w.begin(n, run)
	w.B.Doc("keyPattern", n.Scan.Index.Key)
	w.B.String("indexName", n.Scan.Index.Name)
	w.B.Int32("indexVersion", 2)
	if run != nil {
		w.B.Int32("keysExamined", int32(run.Stats().KeysExamined))
		w.B.Int32("docsExamined", int32(run.Stats().DocsExamined))
	}
}
