package geo

import (
	"cmp"
	"slices"

	"github.com/golang/geo/s1"
	"github.com/golang/geo/s2"
)

const (
	// finestLevel is the level of the smallest cells that cover a geometry, about a metre wide. A
	// point uses its leaf cell instead.
	finestLevel = 23
	// storedCells is the largest number of cells that an index stores for a geometry. queryCells is
	// the same limit for a region in a query.
	storedCells = 50
	queryCells  = 20
)

// These errors are the reasons why a geometry cannot be in a 2dsphere index.
var (
	errStrict  = reason("can't index geometry with strict winding order")
	errNoPlace = reason("can't project geometry into spherical CRS")
)

// AppendCells appends the cells of the sphere that an index stores for the geometry. It may project
// the geometry.
func (g *Geometry) AppendCells(dst []uint64) ([]uint64, error) {
	switch {
	case g.crs == StrictSphere:
		return dst, errStrict
	case !g.toSphere():
		return dst, errNoPlace
	case g.isPoint:
		return append(dst, uint64(s2.CellFromPoint(g.point.s2).ID())), nil
	}
	coverer := s2.RegionCoverer{MaxLevel: finestLevel, MaxCells: storedCells}
	for _, id := range coverer.Covering(g.parts()) {
		dst = append(dst, uint64(id))
	}
	return dst, nil
}

// parts returns a geometry as a region of the sphere. The geometry must not be a single point.
func (g *Geometry) parts() parts {
	var out parts
	if g.big != nil {
		out = append(out, g.big.loop)
	}
	if g.isPoint {
		out = append(out, g.point.s2)
	}
	for i := range g.points {
		out = append(out, g.points[i].s2)
	}
	for _, line := range g.lines {
		out = append(out, line)
	}
	for _, polygon := range g.polygons {
		out = append(out, polygon)
	}
	return out
}

// Interval is a range of values that an index stores for cells. It includes both ends. The values
// are uint64s, but a 2dsphere index compares them as int64s.
type Interval struct{ Low, High uint64 }

// SphereCovering returns the cells that a 2dsphere index may store for geometries that the region
// contains or intersects. They are in the order of int64s. It returns false for a region of a
// plane.
func (r *Region) SphereCovering() ([]Interval, bool) {
	var region s2.Region
	switch {
	case r.kind == regionCap:
		region = r.cap
	case r.kind == regionGeometry && r.CRS() != Flat:
		region = r.geometry.parts()
	default:
		return nil, false
	}
	coverer := s2.RegionCoverer{MaxLevel: s2.MaxLevel, MaxCells: queryCells}
	covering := coverer.Covering(region)
	intervals := make([]Interval, 0, 2*len(covering))
	above := map[s2.CellID]bool{}
	for _, id := range covering {
		intervals = append(intervals, Interval{uint64(id.RangeMin()), uint64(id.RangeMax())})
		for level := id.Level() - 1; level >= 0; level-- {
			parent := id.Parent(level)
			if above[parent] {
				break
			}
			above[parent] = true
			intervals = append(intervals, Interval{uint64(parent), uint64(parent)})
		}
	}
	return joined(intervals), true
}

// joined sorts intervals as int64s, and joins intervals that touch each other.
func joined(in []Interval) []Interval {
	slices.SortFunc(in, func(a, b Interval) int { return cmp.Compare(int64(a.Low), int64(b.Low)) })
	out := in[:0]
	for _, iv := range in {
		if n := len(out); n > 0 && int64(iv.Low) <= int64(out[n-1].High)+1 {
			out[n-1].High = uint64(max(int64(out[n-1].High), int64(iv.High)))
			continue
		}
		out = append(out, iv)
	}
	return out
}

// parts is the union of several regions.
type parts []s2.Region

// CapBound implements s2.Region.
func (p parts) CapBound() s2.Cap {
	out := s2.EmptyCap()
	for _, r := range p {
		out = out.AddCap(r.CapBound())
	}
	return out
}

// RectBound implements s2.Region.
func (p parts) RectBound() s2.Rect {
	out := s2.EmptyRect()
	for _, r := range p {
		out = out.Union(r.RectBound())
	}
	return out
}

// ContainsCell implements s2.Region.
func (p parts) ContainsCell(c s2.Cell) bool {
	return slices.ContainsFunc(p, func(r s2.Region) bool { return r.ContainsCell(c) })
}

// IntersectsCell implements s2.Region.
func (p parts) IntersectsCell(c s2.Cell) bool {
	return slices.ContainsFunc(p, func(r s2.Region) bool { return r.IntersectsCell(c) })
}

// ContainsPoint implements s2.Region.
func (p parts) ContainsPoint(point s2.Point) bool {
	return slices.ContainsFunc(p, func(r s2.Region) bool { return r.ContainsPoint(point) })
}

// CellUnionBound implements s2.Region.
func (p parts) CellUnionBound() []s2.CellID {
	if bound := p.CapBound(); !bound.IsEmpty() {
		return bound.CellUnionBound()
	}
	return s2.FullCap().CellUnionBound()
}

// chordError is larger than the error of a distance computed from squared chords.
const chordError = s1.Angle(1e-7)

// sphereSpace is the sphere, seen from a point.
type sphereSpace struct{ center s2.Point }

// Roots implements Space.
func (sphereSpace) Roots() []Cell {
	out := make([]Cell, 0, 6)
	for face := range 6 {
		out = append(out, Cell{ID: uint64(s2.CellIDFromFace(face))})
	}
	return out
}

// Children implements Space.
func (sphereSpace) Children(c Cell) []Cell {
	if c.Level == s2.MaxLevel {
		return nil
	}
	out := make([]Cell, 0, 4)
	for _, id := range s2.CellID(c.ID).Children() {
		out = append(out, Cell{ID: uint64(id), Level: c.Level + 1})
	}
	return out
}

// Within implements Space.
func (sphereSpace) Within(c Cell) Interval {
	id := s2.CellID(c.ID)
	return Interval{uint64(id.RangeMin()), uint64(id.RangeMax())}
}

// Own implements Space. A line or a polygon is stored under the ids of its cells. The id of a cell
// is between the ids of its children.
func (sphereSpace) Own(c Cell) (Interval, bool) { return Interval{c.ID, c.ID}, c.Level < s2.MaxLevel }

// Entry implements Space.
func (sphereSpace) Entry(id uint64) (Cell, bool) {
	cell := s2.CellID(id)
	if !cell.IsValid() {
		return Cell{}, false
	}
	return Cell{ID: id, Level: cell.Level()}, true
}

// Distance implements Space. It makes the distance smaller by more than the rounding error and the
// size of a leaf cell.
func (s sphereSpace) Distance(c Cell) float64 {
	if c.Level == s2.MaxLevel {
		return float64(max(0, s.center.Distance(s2.CellID(c.ID).Point())-nearby)) * EarthRadius
	}
	d := s2.CellFromCellID(s2.CellID(c.ID)).Distance(s.center).Angle()
	return float64(max(0, d-chordError)) * EarthRadius
}

// Farthest implements Space.
func (s sphereSpace) Farthest(c Cell) float64 {
	d := s2.CellFromCellID(s2.CellID(c.ID)).MaxDistance(s.center).Angle()
	return float64(d+chordError) * EarthRadius
}

// Reaches implements Space. It returns true because the index covers the whole sphere.
func (sphereSpace) Reaches(*Geometry, float64) bool { return true }
