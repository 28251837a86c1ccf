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

// Ended returns why the operation ended that the geometry was read for; nil while it may go on.
// What Contains, Intersects and Distance returned before means nothing then.
func (g *Geometry) Ended() error { return g.watch.Ended() }
