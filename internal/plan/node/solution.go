package node

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// Solution is a complete candidate plan.
type Solution struct {
	Root Node
	// Sign sets Signature, HasSort and HasFetch. Signature is the plan's structure without values,
	// which the plan cache stores.
	Signature []byte
	HasSort   bool
	HasFetch  bool

	Described string // text of the bounds, used to compare candidates; empty until it is needed
}

// NewSolution returns a plan that is not signed yet.
func NewSolution(root Node) *Solution { return &Solution{Root: root} }

// usualSignatures is the size in bytes of a buffer for the signatures of a few candidates.
const usualSignatures = 256

// Sign sets the signature of a plan, if it is not set yet. It appends the signature to buf and
// returns buf.
func (s *Solution) Sign(buf []byte) []byte {
	if s.Signature != nil {
		return buf
	}
	if buf == nil {
		buf = make([]byte, 0, usualSignatures)
	}
	start := len(buf)
	buf = appendSignature(buf, s.Root)
	s.Signature = buf[start:len(buf):len(buf)]
	s.HasSort, s.HasFetch = Has[*Sort](s.Root), Has[*Fetch](s.Root)
	return buf
}

// appendSignature writes the structure of a plan: stages, indexes, and which fields are bounded.
func appendSignature(dst []byte, n Node) []byte {
	dst = n.sign(append(dst, n.stage()...))
	dst = append(dst, '(')
	for i := 0; n.input(i) != nil; i++ {
		dst = appendSignature(dst, n.input(i))
	}
	return append(dst, ')')
}

// BoundedFields returns the number of index fields that the scans of a plan restrict.
func (s *Solution) BoundedFields() int {
	n := 0
	Walk(s.Root, func(in Node) {
		if scan, ok := in.(*IndexScan); ok {
			for _, ivs := range scan.Bounds {
				if !ivs.IsAll() {
					n++
				}
			}
		}
	})
	return n
}

// Summary describes the plan in one line by its leaves.
func (s *Solution) Summary() string {
	var parts []string
	Walk(s.Root, func(n Node) {
		switch scan := n.reads().scan; {
		case scan != nil:
			parts = append(parts, n.stage()+" "+bsonx.FormatShell(bsonx.Document(scan.Index.Key)))
		case n.input(0) == nil:
			parts = append(parts, n.stage())
		}
	})
	return strings.Join(parts, ", ")
}

// AppendKey appends to a shape the signatures of its candidates. The result is the key of the plan
// cache. Queries of the same shape can have different candidates, for example if a value is null
// and an index is sparse.
func AppendKey(shape []byte, candidates []*Solution) []byte {
	var room []byte
	for _, s := range candidates {
		room = s.Sign(room)
		shape = append(shape, 0)
		shape = append(shape, s.Signature...)
	}
	return shape
}
