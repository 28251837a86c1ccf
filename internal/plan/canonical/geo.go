package canonical

import (
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/geo"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
)

// covering is what geoBounds returned last: it is asked for several times, and takes some time.
type covering struct {
	bounds *Bounds
	index  *indexinfo.Index
	field  int
}

// geoBounds are the bounds of a predicate on a field that holds cells: those that cover the region.
// What is on the edge of a cell only the document tells. The other fields of a 2d index hold arrays
// as they are, and are not bounded.
func (p *Predicate) geoBounds(x *indexinfo.Index, field int) *Bounds {
	if have := &p.covering; have.bounds != nil && have.index == x && have.field == field {
		return have.bounds
	}
	b := &Bounds{made: true}
	p.covering = covering{b, x, field}
	n, ok := p.Node.(*filter.Geo)
	if !ok || !indexinfo.IsGeo(x.Fields[field]) {
		return b
	}
	b.Tight = bounds.InexactFetch
	var cells []geo.Interval
	if x.Kind == index.Sphere {
		cells, b.Ok = n.Region.SphereCovering()
	} else if n.Within {
		cells, b.Ok = index.GridOf(x.Stored.Spec).Covering(n.Region)
	}
	b.Intervals = make(bounds.Intervals, 0, len(cells))
	for _, iv := range cells {
		b.Intervals = append(b.Intervals, x.Cells(iv))
	}
	return b
}
