package node

import "github.com/sheafdb/sheaf/internal/exec"

// Reshape returns what shapes a row of a plan anew; nil where the rows are those of a sort.
func (b Builder) Reshape(root Node) *exec.Again {
	if Has[*Sort](root) {
		return nil
	}
	return &exec.Again{
		Build: func(in exec.Node) exec.Node { return root.again(b, in) },
		Entry: Has[*ReturnKey](root) || isCovered(root),
	}
}

// isCovered reports whether a plan makes its rows of index entries alone.
func isCovered(root Node) bool {
	covered := false
	Walk(root, func(n Node) {
		p, ok := n.(*Project)
		covered = covered || ok && p.Covered != nil
	})
	return covered
}
