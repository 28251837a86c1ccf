package geo

// Cell is a cell of the sphere or of a grid.
type Cell struct {
	ID    uint64
	Level int
}

// Space is what a search by distance walks through: the cells of an index, seen from a point. It is
// immutable.
type Space interface {
	// Roots are the cells that everything is in.
	Roots() []Cell
	// Children are the four cells that a cell divides into; none for the smallest.
	Children(c Cell) []Cell
	// Within is the interval of all that the index holds for what is in the cell: the cell and
	// those below it.
	Within(c Cell) Interval
	// Own is the part of Within that is not in that of any child; false where there is none.
	Own(c Cell) (Interval, bool)
	// Entry is the cell that an index holds; false where it is none.
	Entry(id uint64) (Cell, bool)
	// Distance is at most the distance of anything in the cell, as Geometry.Distance measures it.
	Distance(c Cell) float64
	// Farthest is at least that.
	Farthest(c Cell) float64
	// Reaches reports whether the search finds a geometry at a distance that Geometry.Distance
	// measured.
	Reaches(g *Geometry, distance float64) bool
}

// Around returns the space of a 2dsphere index around a point of the sphere.
func Around(center *Point) Space { return sphereSpace{center.s2} }

// MaxDistance is the distance of what is on the other side of the earth.
const MaxDistance = 3.14159265358979323846 * EarthRadius
