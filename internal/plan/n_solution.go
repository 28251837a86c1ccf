package plan

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// solution is a complete candidate plan.
type solution struct {
	root node
	// The rest is there after sign: signature names the plan's structure without values: the plan cache remembers it.
	signature []byte
	hasSort   bool
	hasFetch  bool

	described string // see bounds; empty before it is asked for
}

func newSolution(root node) *solution { return &solution{root: root} }

// usualSignatures is room for the signatures of a few candidates.
const usualSignatures = 256

// sign gives a plan its signature, once. It is written behind buf, which is returned.
func (s *solution) sign(buf []byte) []byte {
	if s.signature != nil {
		return buf
	}
	if buf == nil {
		buf = make([]byte, 0, usualSignatures)
	}
	start := len(buf)
	buf = appendSignature(buf, s.root)
	s.signature = buf[start:len(buf):len(buf)]
	s.hasSort, s.hasFetch = has[*sortNode](s.root), has[*fetch](s.root)
	return buf
}

// appendSignature writes the structure of a plan: stages, indexes, which fields are bounded.
func appendSignature(dst []byte, n node) []byte {
	dst = n.sign(append(dst, n.stage()...))
	dst = append(dst, '(')
	for i := 0; n.input(i) != nil; i++ {
		dst = appendSignature(dst, n.input(i))
	}
	return append(dst, ')')
}

// boundedFields counts the index fields that the scans of a plan restrict.
func (s *solution) boundedFields() int {
	n := 0
	walk(s.root, func(in node) {
		if scan, ok := in.(*indexScan); ok {
			for _, ivs := range scan.bounds {
				if !ivs.IsAll() {
					n++
				}
			}
		}
	})
	return n
}

// summary describes the plan in one line: what its leaves read.
func (s *solution) summary() string {
	var parts []string
	walk(s.root, func(n node) {
		switch scan := n.reads().scan; {
		case scan != nil:
			parts = append(parts, n.stage()+" "+bsonx.FormatShell(bsonx.Document(scan.index.Key)))
		case n.input(0) == nil:
			parts = append(parts, n.stage())
		}
	})
	return strings.Join(parts, ", ")
}

// isCovered reports whether a plan makes its rows of index entries alone.
func isCovered(root node) bool {
	covered := false
	walk(root, func(n node) {
		p, ok := n.(*project)
		covered = covered || ok && p.covered != nil
	})
	return covered
}

// appendKey appends to a shape what decides which indexes are candidates for it: the same shape can have other
// candidates for other values, such as null on a sparse index.
func appendKey(shape []byte, candidates []*solution) []byte {
	var room []byte
	for _, s := range candidates {
		room = s.sign(room)
		shape = append(shape, 0)
		shape = append(shape, s.signature...)
	}
	return shape
}
