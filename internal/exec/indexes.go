package exec

import "github.com/sheafdb/sheaf/internal/table"

// indexReader is implemented by nodes that read entries of an index.
type indexReader interface{ usedIndex() *table.Index }

func (n *GeoNear) usedIndex() *table.Index { return n.opts.Index }

// IndexesOf returns the indexes that a tree reads, except the _id index.
func IndexesOf(n Node) []*table.Index {
	var out []*table.Index
	if r, ok := n.(indexReader); ok && r.usedIndex() != nil {
		out = append(out, r.usedIndex())
	}
	for _, in := range n.Inputs() {
		out = append(out, IndexesOf(in)...)
	}
	return out
}
