package projection

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
)

// Computed returns the paths of the fields that expressions compute, and the dependencies of the
// expressions.
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

// Kept returns the paths that an inclusion keeps unchanged.
func (p *Projection) Kept() []string { return p.root.included(nil, "") }

// Changed returns the paths that an exclusion removes, or that an addition computes.
func (p *Projection) Changed() []string { return p.root.changed(nil, "") }

func (n *node) changed(paths []string, prefix string) []string {
	for i := range n.fields {
		f := &n.fields[i]
		switch f.action {
		case compute, drop:
			paths = append(paths, prefix+f.name)
		case descend:
			paths = f.branch.changed(paths, prefix+f.name+".")
		default:
		}
	}
	return paths
}

// MayFail returns the top-level fields with an expression that may fail.
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

// firstError is called when expressions have failed for a document. It returns the error that comes
// first in the order of the specification; found is the error that comes first in the order of the
// document. After an interrupt it returns found without evaluating the expressions again.
func (n *node) firstError(doc bsonx.Doc, ctx *expr.Context, found error) error {
	if ctx.Running.Err() != nil {
		return found
	}
	if err := n.failure(bsonx.Document(doc), ctx); err != nil {
		return err
	}
	return found // the expression failed only once, for example because of $rand
}

// failure evaluates the expressions for a value, in the order of the specification, and returns the
// first error.
func (n *node) failure(v bsonx.Value, ctx *expr.Context) error {
	if v.Type == bsonx.TypeArray {
		for it := v.Doc().Iter(); it.Next(); {
			if err := n.failure(it.Value(), ctx); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range n.fields {
		var err error
		switch f := &n.fields[i]; {
		case f.action == compute:
			// No output is built here, but Built checks for an interrupt, and whether the output is
			// already too large.
			if err = ctx.Built(0); err == nil {
				_, err = f.value.Eval(ctx)
				ctx.Rewind()
			}
		case f.action == descend && f.branch.computes:
			err = f.branch.failure(fieldOf(v, f.name), ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func fieldOf(v bsonx.Value, name string) bsonx.Value {
	if v.Type != bsonx.TypeDocument {
		return bsonx.Missing
	}
	return v.Doc().Lookup(name)
}
