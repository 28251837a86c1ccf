package plan

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/geo"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
)

// geoNear reads the records of an index's entries by their distance from a point.
type geoNear struct {
	near   *filter.GeoNear
	field  int         // of the index: what the distance is of
	scan   *indexScan  // the index, and bounds of its other fields
	filter filter.Node // nil: all
}

func (n *geoNear) stage() string {
	if n.scan.index.Kind == index.Plane {
		return "GEO_NEAR_2D"
	}
	return "GEO_NEAR_2DSPHERE"
}

func (*geoNear) input(int) node          { return nil }
func (n *geoNear) residual() filter.Node { return n.filter }
func (n *geoNear) reads() reading        { return reading{scan: n.scan} }

func (n *geoNear) sign(dst []byte) []byte {
	dst = append(append(dst, ' '), n.scan.index.Name...)
	for _, ivs := range n.scan.bounds {
		dst = append(dst, boundsMark(ivs))
	}
	return dst
}

func (n *geoNear) build(b builder) exec.Node {
	x := n.scan.index
	o := exec.GeoNearOptions{
		Coll: b.q.Coll, Index: x.Stored, Field: n.field, Near: n.near, Filter: b.predicate(n.filter), Dedup: x.IsMultikey(),
		Located: b.q.Located, Desc: make([]bool, len(x.Fields)), Fields: make([][]exec.Range, len(x.Fields)),
	}
	if x.Kind == index.Sphere {
		o.Space = geo.Around(&n.near.Center)
	} else {
		grid := index.GridOf(x.Stored.Spec)
		o.Space, o.Refused = grid.Around(&n.near.Center), checkCenter(grid, &n.near.Center)
	}
	for f, ivs := range n.scan.bounds {
		if len(ivs) == 0 {
			return exec.NewEOF(b.env)
		}
		o.Desc[f] = x.Fields[f].Desc
		o.Fields[f] = b.shared.Ranges(ivs, o.Desc[f])
	}
	o.Encode = func(iv geo.Interval) exec.Range { return bounds.RangeOf(x.Cells(iv), false) }
	return exec.NewGeoNear(b.env, o)
}

// checkCenter refuses a point outside of a 2d index.
func checkCenter(g geo.Grid, p *geo.Point) error {
	if g.Has(p.X, p.Y) {
		return nil
	}
	return mongoerr.New(16433, "point not in interval of [ %g, %g ] :: caused by :: %s", g.Min, g.Max,
		bsonx.FormatShell(bsonx.Document(bsonx.NewDoc("0", p.X, "1", p.Y))))
}

func (*geoNear) again(b builder, in exec.Node) exec.Node { return b.fetchAgain(in) }

func (n *geoNear) describe(w *stageWriter, run exec.Node) {
	w.begin(n, run)
	w.b.Doc("keyPattern", n.scan.index.Key)
	w.b.String("indexName", n.scan.index.Name)
	w.b.Int32("indexVersion", 2)
	if run != nil {
		w.b.Int32("keysExamined", int32(run.Stats().KeysExamined))
		w.b.Int32("docsExamined", int32(run.Stats().DocsExamined))
	}
}
