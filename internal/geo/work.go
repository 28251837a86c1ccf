package geo

import "github.com/sheafdb/sheaf/internal/interrupt"

const (
	// vertexWork is the work of placing a vertex on the sphere.
	vertexWork = 4 * interrupt.Step
	// edgeWork is the work of searching an index of edges for those that an edge crosses.
	edgeWork = 16 * interrupt.Step
	// segmentWork is the work of measuring how far an edge is.
	segmentWork = 2 * interrupt.Step
)

// Ended returns the reason why the operation that uses the geometry ended, or nil while it runs.
// After it ended, the answers of Contains, Intersects and Distance mean nothing.
func (g *Geometry) Ended() error { return g.watch.Ended() }
