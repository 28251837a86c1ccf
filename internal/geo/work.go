package geo

import "github.com/sheafdb/sheaf/internal/interrupt"

const (
	// vertexWork is the work of converting a vertex to the sphere.
	vertexWork = 4 * interrupt.Step
	// edgeWork is the work of searching an edge index for the edges that an edge crosses.
	edgeWork = 16 * interrupt.Step
	// segmentWork is the work of measuring the distance of an edge.
	segmentWork = 2 * interrupt.Step
)

// Ended returns the reason why the operation that uses the geometry ended, or nil if it still runs.
// After the end, results of Contains, Intersects and Distance have no meaning.
func (g *Geometry) Ended() error { return g.watch.Ended() }
