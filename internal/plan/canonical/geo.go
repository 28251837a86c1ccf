package canonical

import (
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/geo"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
)

// covering caches the last result of geoBounds, which is called several times and is slow.
type covering struct {
	bounds *Bounds
	index  *indexinfo.Index
	field  int
}

// geoBounds returns the bounds of a predicate on a geo field: the cells that cover the region. Only
// the document tells whether a geometry in such a cell matches. The other fields of a 2d index
// combine the elements of arrays into one value, so they get no bounds.
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
