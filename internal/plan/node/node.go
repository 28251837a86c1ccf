package node

import (
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
)

// Node is an operator of a plan: an immutable description of an operator of package exec.
//
//sumtype:decl
type Node interface {
	// stage is the name that explain prints.
	stage() string
	// input returns the i-th node that this one reads from; nil behind the last.
	input(i int) Node
	// residual is the filter that the operator asks of its rows; nil for none.
	residual() filter.Node
	// reads tells what the operator reads itself, apart from its inputs.
	reads() reading
	// sign appends what tells plans apart for the plan cache, beside the stage and the inputs:
	// structure without values.
	sign(dst []byte) []byte
	// build makes the operator, with its inputs.
	build(b Builder) exec.Node
	// again makes the operators that shape a row of the plan anew; in gives it without a document.
	again(b Builder, in exec.Node) exec.Node
	// describe writes what explain shows: the stage, its properties, and its inputs. run is the
	// operator; nil where the plan has not run.
	describe(w *Writer, run exec.Node)
}

// sole is input of a node that reads from one.
func sole(in Node, i int) Node {
	if i > 0 {
		return nil
	}
	return in
}

// nth is input of a node that reads from several.
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

// Has reports whether a node of type T is in the tree.
func Has[T Node](n Node) bool {
	found := false
	Walk(n, func(n Node) {
		if _, ok := n.(T); ok {
			found = true
		}
	})
	return found
}
