package geo

import "github.com/sheafdb/sheaf/internal/interrupt"

const (
	// vertexWork is the cost of converting a vertex to the sphere.
	vertexWork = 4 * interrupt.Step
	// edgeWork is the cost of searching an edge index for the edges that cross an edge.
	edgeWork = 16 * interrupt.Step
	// segmentWork is the cost of measuring the distance of an edge.
	segmentWork = 2 * interrupt.Step
)

// Ended returns the reason why the operation that uses the geometry was interrupted, or nil if it
// still runs. After an interruption, the results of Contains, Intersects and Distance are not
// valid.
func (g *Geometry) Ended() error { return g.watch.Ended() }
