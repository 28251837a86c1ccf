package geo

// Cell is a cell of the sphere or of a grid.
type Cell struct {
	ID    uint64
	Level int
}

// Space is the set of cells of an index, seen from a point. It is used to search geometries in the
// order of their distance. A Space never changes.
type Space interface {
	// Roots returns the cells that together contain everything.
	Roots() []Cell
	// Children returns the four cells into which a cell is divided. The smallest cells have no
	// children.
	Children(c Cell) []Cell
	// Within returns the interval of all values that the index may store for geometries in the
	// cell. This includes all cells below it.
	Within(c Cell) Interval
	// Own returns the part of Within that belongs to the cell but not to one of its children. It
	// returns false if no such part exists.
	Own(c Cell) (Interval, bool)
	// Entry returns the cell for a value in an index. It returns false if the value is not a cell.
	Entry(id uint64) (Cell, bool)
	// Distance returns a lower bound for the distances of all geometries in the cell.
	// Geometry.Distance measures these distances.
	Distance(c Cell) float64
	// Farthest returns an upper bound for the distances of all geometries in the cell.
	Farthest(c Cell) float64
	// Reaches reports whether the search finds a geometry at the given distance, which
	// Geometry.Distance measured.
	Reaches(g *Geometry, distance float64) bool
}

// Around returns the space of a 2dsphere index around a point of the sphere.
func Around(center *Point) Space { return sphereSpace{center.s2} }

// maxDistance is the distance of a point on the opposite side of the earth.
const maxDistance = 3.14159265358979323846 * EarthRadius
