package plan

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/geo"
	"github.com/sheafdb/sheaf/internal/index"
)

// hasGeo reports whether a predicate on a geometry bounds the index: every match has one then.
func (a assignment) hasGeo(x *indexInfo) bool {
	for _, have := range a {
		if isGeo(x.fields[have.field]) {
			return true
		}
	}
	return false
}

// covering is what geoBounds returned last: it is asked for several times, and takes some time.
type covering struct {
	bounds *predicateBounds
	index  *indexInfo
	field  int
}

// geoBounds are the bounds of a predicate on a field that holds cells: those that cover the region. What is on the edge of a
// cell only the document tells. The other fields of a 2d index hold arrays as they are, and are not bounded.
func (p *predicate) geoBounds(x *indexInfo, field int) *predicateBounds {
	if have := &p.covering; have.bounds != nil && have.index == x && have.field == field {
		return have.bounds
	}
	b := &predicateBounds{made: true}
	p.covering = covering{b, x, field}
	n, ok := p.node.(*filter.Geo)
	if !ok || !isGeo(x.fields[field]) {
		return b
	}
	b.tight = inexactFetch
	var cells []geo.Interval
	if x.kind == index.Sphere {
		cells, b.ok = n.Region.SphereCovering()
	} else if n.Within {
		cells, b.ok = index.GridOf(x.ix.Spec).Covering(n.Region)
	}
	b.ivs = make(intervals, 0, len(cells))
	for _, iv := range cells {
		b.ivs = append(b.ivs, interval{cellValue(x, iv.Low), cellValue(x, iv.High), true, true})
	}
	return b
}

// cellValue is what an index holds for a cell.
func cellValue(x *indexInfo, cell uint64) bsonx.Value {
	if x.kind == index.Sphere {
		return bsonx.Int64(int64(cell))
	}
	return index.PlaneValue(cell)
}
