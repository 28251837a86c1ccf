package projection

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/expr"
)

// Computed returns the paths of the fields that expressions compute, and what these read.
func (p *Projection) Computed() (paths []string, deps expr.Dependencies) {
	p.root.depend(&deps)
	return p.root.computed(nil, ""), deps
}

func (n *node) computed(paths []string, prefix string) []string {
	for i := range n.fields {
		f := &n.fields[i]
		switch f.action {
		case compute:
			paths = append(paths, prefix+f.name)
		case descend:
			paths = f.branch.computed(paths, prefix+f.name+".")
		default:
		}
	}
	return paths
}

// MayFail returns the top-level fields in which something is computed that may raise an error.
func (p *Projection) MayFail() []string {
	var names []string
	for i := range p.root.fields {
		one := &node{fields: p.root.fields[i : i+1]}
		if slices.ContainsFunc(one.expressions(nil), func(e expr.Expr) bool { return !expr.CannotFail(e) }) {
			names = append(names, p.root.fields[i].name)
		}
	}
	return names
}
