package plan

import (
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
)

// node is an operator of a plan: an immutable description of an operator of package exec.
//
//sumtype:decl
type node interface {
	// stage is the name that explain prints.
	stage() string
	// input returns the i-th node that this one reads from; nil behind the last.
	input(i int) node
	// residual is the filter that the operator asks of its rows; nil for none.
	residual() filter.Node
	// reads tells what the operator reads itself, apart from its inputs.
	reads() reading
	// sign appends what tells plans apart for the plan cache, beside the stage and the inputs: structure without values.
	sign(dst []byte) []byte
	// build makes the operator, with its inputs.
	build(b builder) exec.Node
	// again makes the operators that shape a row of the plan anew; in gives it without a document.
	again(b builder, in exec.Node) exec.Node
	// describe writes what explain shows: the stage, its properties, and its inputs. run is the operator; nil where the
	// plan has not run.
	describe(w *stageWriter, run exec.Node)
}

// sole is input of a node that reads from one.
func sole(in node, i int) node {
	if i > 0 {
		return nil
	}
	return in
}

// nth is input of a node that reads from several.
func nth(in []node, i int) node {
	if i >= len(in) {
		return nil
	}
	return in[i]
}

// walk calls f for n and all nodes below it.
func walk(n node, f func(node)) {
	f(n)
	for i := 0; n.input(i) != nil; i++ {
		walk(n.input(i), f)
	}
}

// has reports whether a node of type T is in the tree.
func has[T node](n node) bool {
	found := false
	walk(n, func(n node) {
		if _, ok := n.(T); ok {
			found = true
		}
	})
	return found
}
