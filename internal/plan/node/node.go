package node

import (
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
)

// Node is an operator of a plan: an immutable description of an operator of package exec.
//
//sumtype:decl
type Node interface {
	// stage returns the name that explain prints.
	stage() string
	// input returns the i-th input of the node, or nil after the last input.
	input(i int) Node
	// residual returns the filter that the operator applies to its rows, or nil.
	residual() filter.Node
	// reads returns what the operator itself reads, apart from its inputs.
	reads() reading
	// sign appends the part of the plan cache signature that belongs to the node, without its
	// stage and its inputs: structure without values.
	sign(dst []byte) []byte
	// build builds the operator and its inputs.
	build(b Builder) exec.Node
	// again builds the operators that shape a row again: the row was read in a trial, and its
	// record may have changed since. in yields the row without a document.
	again(b Builder, in exec.Node) exec.Node
	// describe writes the output of explain: the stage, its properties, and its inputs. run is the
	// operator, or nil if the plan has not run.
	describe(w *Writer, run exec.Node)
}

// sole implements input for a node with one input.
func sole(in Node, i int) Node {
	if i > 0 {
		return nil
	}
	return in
}

// nth implements input for a node with several inputs.
func nth(in []Node, i int) Node {
	if i >= len(in) {
		return nil
	}
	return in[i]
}

// Walk calls f for n and all nodes below it.
func Walk(n Node, f func(Node)) {
	f(n)
	for i := 0; n.input(i) != nil; i++ {
		Walk(n.input(i), f)
	}
}

// Has reports whether the tree contains a node of type T.
func Has[T Node](n Node) bool {
	found := false
	Walk(n, func(n Node) {
		if _, ok := n.(T); ok {
			found = true
		}
	})
	return found
}
