package node

import "github.com/sheafdb/sheaf/internal/exec"

// Reshape describes how to check and shape again the rows that a trial has read, because their
// records may have changed since. It returns nil for a plan with a sort, whose rows stay as the
// sort has read them.
func (b Builder) Reshape(root Node) *exec.Again {
	if Has[*Sort](root) {
		return nil
	}
	return &exec.Again{
		Build: func(in exec.Node) exec.Node { return root.again(b, in) },
		Entry: Has[*ReturnKey](root) || isCovered(root),
	}
}

// isCovered reports whether a plan builds its rows only from index entries.
func isCovered(root Node) bool {
	covered := false
	Walk(root, func(n Node) {
		p, ok := n.(*Project)
		covered = covered || ok && p.Covered != nil
	})
	return covered
}
