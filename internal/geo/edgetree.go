package geo

import "github.com/golang/geo/s2"

// leafEdges is the largest number of edges in a leaf of an edgeTree.
const leafEdges = 8

// edgeTree finds the edges of a line or a polygon that may cross another edge. It is a binary tree
// of boxes around consecutive edges. Node 1 is the root, and nodes 2i and 2i+1 are the children of
// node i. The leaves are the second half of the nodes.
type edgeTree struct {
	shape s2.Shape
	nodes []solid
}

// solid is a box with edges that are parallel to the axes of space.
type solid struct{ low, high [3]float64 }

func newEdgeTree(shape s2.Shape) edgeTree {
	leaves := (shape.NumEdges() + leafEdges - 1) / leafEdges
	t := edgeTree{shape, make([]solid, 2*leaves)}
	for leaf := range leaves {
		first, end := t.edgesOf(leaf)
		s := solidAround(shape.Edge(first))
		for e := first + 1; e < end; e++ {
			s = s.union(solidAround(shape.Edge(e)))
		}
		t.nodes[leaves+leaf] = s
	}
	for i := leaves - 1; i > 0; i-- {
		t.nodes[i] = t.nodes[2*i].union(t.nodes[2*i+1])
	}
	return t
}

// edgesOf returns the number of the first edge in a leaf and the number after its last edge.
func (t edgeTree) edgesOf(leaf int) (first, end int) {
	return leaf * leafEdges, min((leaf+1)*leafEdges, t.shape.NumEdges())
}

// appendNear appends the edges below a node that may cross or touch something in the box s.
func (t edgeTree) appendNear(to []s2.Edge, node int, s *solid) []s2.Edge {
	if !t.nodes[node].touches(s) {
		return to
	}
	leaves := len(t.nodes) / 2
	if node < leaves {
		return t.appendNear(t.appendNear(to, 2*node, s), 2*node+1, s)
	}
	first, end := t.edgesOf(node - leaves)
	for e := first; e < end; e++ {
		to = append(to, t.shape.Edge(e))
	}
	return to
}

// solidAround returns a box that contains an edge. The margin allows for rounding and because the
// edge is an arc. The distance between the arc and its chord is at most a quarter of the square of
// the chord's length.
func solidAround(e s2.Edge) solid {
	margin := e.V0.Sub(e.V1.Vector).Norm2()/4 + 1e-14
	return solid{
		[3]float64{min(e.V0.X, e.V1.X) - margin, min(e.V0.Y, e.V1.Y) - margin, min(e.V0.Z, e.V1.Z) - margin},
		[3]float64{max(e.V0.X, e.V1.X) + margin, max(e.V0.Y, e.V1.Y) + margin, max(e.V0.Z, e.V1.Z) + margin},
	}
}

func (s solid) union(o solid) solid {
	for i := range s.low {
		s.low[i], s.high[i] = min(s.low[i], o.low[i]), max(s.high[i], o.high[i])
	}
	return s
}

func (s *solid) touches(o *solid) bool {
	for i := range s.low {
		if s.low[i] > o.high[i] || o.low[i] > s.high[i] {
			return false
		}
	}
	return true
}
