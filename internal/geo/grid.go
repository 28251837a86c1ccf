package geo

import (
	"math"

	"github.com/golang/geo/r1"
	"github.com/golang/geo/s1"
	"github.com/golang/geo/s2"
)

// Grid divides a square of a plane into four parts, and repeats this Bits times. The resulting
// parts are the cells of a 2d index.
type Grid struct {
	Bits     int
	Min, Max float64
}

// DefaultGrid is the grid of an index without options. Its coordinates are longitudes and
// latitudes.
var DefaultGrid = Grid{Bits: 26, Min: -180, Max: 180}

// buckets is the largest number of columns, and of rows, in a grid.
const buckets = 1 << 32

// Hash returns the smallest cell that contains a point. Starting at the highest bit, its bits are
// alternately bits of the column and of the row.
func (g Grid) Hash(x, y float64) (uint64, error) {
	if !g.Has(x, y) {
		return 0, reasonf("point not in interval of [ %g, %g ]  :: caused by :: { lon: %g, lat: %g }", g.Min, g.Max, x, y)
	}
	return g.hash(x, y), nil
}

// Has reports whether a point is in the square.
func (g Grid) Has(x, y float64) bool { return x >= g.Min && x <= g.Max && y >= g.Min && y <= g.Max }

func (g Grid) hash(x, y float64) uint64 {
	return (spread(g.column(x))<<1 | spread(g.column(y))) & g.mask(g.Bits)
}

// column converts a coordinate to the number of a column or row.
func (g Grid) column(v float64) uint32 {
	return uint32(min(max((v-g.Min)/(g.Max-g.Min)*buckets, 0), buckets-1))
}

// mask returns a number with the highest 2*level bits set.
func (g Grid) mask(level int) uint64 { return ^(math.MaxUint64 >> (2 * level)) }

// spread inserts a zero before each bit.
func spread(v uint32) uint64 {
	x := uint64(v)
	x = (x | x<<16) & 0x0000FFFF0000FFFF
	x = (x | x<<8) & 0x00FF00FF00FF00FF
	x = (x | x<<4) & 0x0F0F0F0F0F0F0F0F
	x = (x | x<<2) & 0x3333333333333333
	return (x | x<<1) & 0x5555555555555555
}

// gather is the inverse of spread.
func gather(x uint64) uint32 {
	x &= 0x5555555555555555
	x = (x | x>>1) & 0x3333333333333333
	x = (x | x>>2) & 0x0F0F0F0F0F0F0F0F
	x = (x | x>>4) & 0x00FF00FF00FF00FF
	x = (x | x>>8) & 0x0000FFFF0000FFFF
	return uint32(x | x>>16)
}

// box returns the area of a cell. It is slightly enlarged, because coordinates are rounded.
func (g Grid) box(c Cell) flatBox {
	unit := (g.Max - g.Min) / buckets
	size := math.Ldexp(g.Max-g.Min, -c.Level)
	x := g.Min + float64(gather(c.ID>>1))*unit
	y := g.Min + float64(gather(c.ID))*unit
	margin := 2*unit + 1e-12*max(math.Abs(g.Min), math.Abs(g.Max))
	return flatBox{x - margin, y - margin, x + size + margin, y + size + margin}
}

func (g Grid) within(c Cell) Interval { return Interval{c.ID, c.ID | ^g.mask(c.Level)} }

func (g Grid) children(c Cell) []Cell {
	if c.Level >= g.Bits {
		return nil
	}
	out := make([]Cell, 0, 4)
	for i := range uint64(4) {
		out = append(out, Cell{c.ID | i<<(62-2*c.Level), c.Level + 1})
	}
	return out
}

// Covering returns the cells of the grid that may store points of the region. It returns false if
// the bounds of the region on the plane are unknown.
func (g Grid) Covering(r *Region) ([]Interval, bool) {
	bounds, ok := r.flatBounds()
	if !ok {
		return nil, false
	}
	cells := []Cell{{}}
	for {
		var next []Cell
		for _, c := range cells {
			for _, child := range g.children(c) {
				if g.box(child).intersects(bounds) && r.mayReach(g.box(child)) {
					next = append(next, child)
				}
			}
		}
		if len(next) > queryCells || cells[0].Level >= g.Bits {
			break
		}
		if cells = next; len(cells) == 0 {
			return nil, true
		}
	}
	intervals := make([]Interval, 0, len(cells))
	for _, c := range cells {
		iv := g.within(c)
		if n := len(intervals); n > 0 && intervals[n-1].High+1 == iv.Low {
			intervals[n-1].High = iv.High
			continue
		}
		intervals = append(intervals, iv)
	}
	return intervals, true
}

// mayReach reports whether the region may overlap a box within its bounds.
func (r *Region) mayReach(b flatBox) bool {
	return r.kind != regionCircle || boxDistance(b, r.circle.center) <= r.circle.radius
}

// boxDistance returns the distance of a point from a box. It returns zero for points in the box.
func boxDistance(b flatBox, p flatPoint) float64 {
	dx := max(b.MinX-p.x, 0, p.x-b.MaxX)
	dy := max(b.MinY-p.y, 0, p.y-b.MaxY)
	return math.Hypot(dx, dy)
}

// Around returns the space of a 2d index around a point. It measures distances on the plane, or on
// the sphere if center is a point of the sphere.
func (g Grid) Around(center *Point) Space {
	return gridSpace{grid: g, center: flatPoint{center.X, center.Y}, spherical: center.CRS != Flat}
}

// gridSpace is a plane, seen from a point.
type gridSpace struct {
	grid      Grid
	center    flatPoint
	spherical bool
}

// Roots implements Space.
func (gridSpace) Roots() []Cell { return []Cell{{}} }

// Children implements Space.
func (s gridSpace) Children(c Cell) []Cell { return s.grid.children(c) }

// Within implements Space.
func (s gridSpace) Within(c Cell) Interval { return s.grid.within(c) }

// Own implements Space.
func (gridSpace) Own(Cell) (Interval, bool) { return Interval{}, false }

// Entry implements Space.
func (s gridSpace) Entry(id uint64) (Cell, bool) { return Cell{id, s.grid.Bits}, true }

// Distance implements Space.
func (s gridSpace) Distance(c Cell) float64 {
	b := s.grid.box(c)
	if !s.spherical {
		return boxDistance(b, s.center) * (1 - 1e-12)
	}
	lat := r1.Interval{Lo: max(radians(b.MinY), -math.Pi/2), Hi: min(radians(b.MaxY), math.Pi/2)}
	lng := s1.Interval{Lo: max(radians(b.MinX), -math.Pi), Hi: min(radians(b.MaxX), math.Pi)}
	if lat.Lo > lat.Hi || lng.Lo > lng.Hi {
		return maxDistance // the cell contains no point of the sphere
	}
	rect := s2.Rect{Lat: lat, Lng: lng}
	d := rect.DistanceToLatLng(s2.LatLngFromDegrees(s.center.y, s.center.x))
	return float64(max(0, d-nearby)) * EarthRadius
}

// Farthest implements Space.
func (s gridSpace) Farthest(c Cell) float64 {
	if s.spherical {
		return math.Inf(1)
	}
	b := s.grid.box(c)
	dx := max(math.Abs(b.MinX-s.center.x), math.Abs(b.MaxX-s.center.x))
	dy := max(math.Abs(b.MinY-s.center.y), math.Abs(b.MaxY-s.center.y))
	return math.Hypot(dx, dy) * (1 + 1e-12)
}

// Reaches implements Space. A 2d index is a map whose left and right edges do not meet. A search
// around a point of the sphere searches a box of the map. The box is as high as the distance, and
// wide enough for it. The search misses only points that are near across longitude 180.
func (s gridSpace) Reaches(g *Geometry, distance float64) bool {
	apart := math.Abs(g.point.X - s.center.x)
	if !s.spherical || apart < 180 {
		return true
	}
	const highest = 89 // in degrees, because the box would be infinitely wide at a pole
	height := distance / EarthRadius * (180 / math.Pi)
	north, south := min(s.center.y+height, highest), max(s.center.y-height, -highest)
	return apart <= height/min(math.Cos(radians(north)), math.Cos(radians(south)))
}

func radians(degrees float64) float64 { return degrees * (math.Pi / 180) }
