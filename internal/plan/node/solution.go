package node

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// Solution is a complete candidate plan.
type Solution struct {
	Root Node
	// The rest is there after sign: signature names the plan's structure without values: the plan
	// cache remembers it.
	Signature []byte
	HasSort   bool
	HasFetch  bool

	Described string // see bounds; empty before it is asked for
}

// NewSolution returns a plan that is not signed yet.
func NewSolution(root Node) *Solution { return &Solution{Root: root} }

// usualSignatures is room for the signatures of a few candidates.
const usualSignatures = 256

// Sign gives a plan its signature, once. It is written behind buf, which is returned.
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

// appendSignature writes the structure of a plan: stages, indexes, which fields are bounded.
func appendSignature(dst []byte, n Node) []byte {
	dst = n.sign(append(dst, n.stage()...))
	dst = append(dst, '(')
	for i := 0; n.input(i) != nil; i++ {
		dst = appendSignature(dst, n.input(i))
	}
	return append(dst, ')')
}

// BoundedFields counts the index fields that the scans of a plan restrict.
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

// Summary describes the plan in one line: what its leaves read.
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

// AppendKey appends to a shape what decides which indexes are candidates for it: the same shape can
// have other candidates for other values, such as null on a sparse index.
func AppendKey(shape []byte, candidates []*Solution) []byte {
	var room []byte
	for _, s := range candidates {
		room = s.Sign(room)
		shape = append(shape, 0)
		shape = append(shape, s.Signature...)
	}
	return shape
}
