package pipeline

import (
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/accumulator"
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
	"github.com/sheafdb/sheaf/internal/projection"
)

// absorbed is a placeholder for a stage whose work the following $group does.
type absorbed struct{ parsing.Stage }

func (*absorbed) Open(src source.Source, _ *source.Env) source.Source { return src }

func (*absorbed) Needs(*parsing.Needs) {}

// absorbProjects merges a projection into the following $group: the $group evaluates the computed
// fields itself, and no intermediate document is built. An expression that may fail must still be
// evaluated for every document. If the $group would not do so, the projection stays.
func absorbProjects(steps []step) []step {
	changed := steps
	for i := len(steps) - 1; i > 0; i-- {
		g, isGroup := steps[i].Stage.(*group)
		if !isGroup {
			continue
		}
		for j := i - 1; j >= 0; j-- {
			p, isProject := steps[j].Stage.(*project)
			if !isProject {
				break
			}
			taken := (&absorber{from: p.projection, used: map[string]bool{}, each: map[string]bool{}}).group(g)
			if taken == nil {
				break
			}
			if &changed[0] == &steps[0] {
				changed = slices.Clone(steps)
			}
			g = taken
			changed[i].Stage, changed[j].Stage = g, &absorbed{p}
		}
	}
	return changed
}

// Unabsorbed returns the pipeline with the stages that it had before absorbProjects.
func (p *Pipeline) Unabsorbed() *Pipeline {
	out := *p
	out.steps = slices.Clone(p.steps)
	for i, s := range out.steps {
		switch stage := s.Stage.(type) {
		case *absorbed:
			out.steps[i].Stage = stage.Stage
		case *group:
			if stage.plain != nil {
				out.steps[i].Stage = stage.plain
			}
		}
	}
	return &out
}

// absorber rewrites the expressions of a $group so that they read the input of a projection instead
// of its output.
type absorber struct {
	from *projection.Projection
	used map[string]bool // the computed fields that the $group reads
	each map[string]bool // the subset of used that the $group evaluates for every document
	once bool            // the current expression is not evaluated for every document
}

// group returns the rewritten $group. It returns nil if an expression cannot be rewritten or would
// be evaluated twice.
func (a *absorber) group(g *group) *group {
	out := *g
	if out.plain == nil {
		out.plain = g
	}
	out.fields = make([]*accumulator.Accumulation, len(g.fields))
	var ok bool
	if out.id, ok = a.id(g); !ok {
		return nil
	}
	for i, f := range g.fields {
		acc := *f
		a.once = f.Once
		if acc.Arg, ok = a.expr(f.Arg); !ok {
			return nil
		}
		out.fields[i] = &acc
	}
	for _, name := range a.from.MayFail() {
		if !a.each[name] {
			return nil
		}
	}
	if out.compile() != nil {
		return nil // the operation was interrupted; a caller that can return errors will notice
	}
	return &out
}

func (a *absorber) id(g *group) (expr.Expr, bool) {
	if g.parts == nil {
		return a.expr(g.id)
	}
	_, values, _ := expr.ObjectFields(g.id)
	values = slices.Clone(values)
	for i := range values {
		var ok bool
		if values[i], ok = a.expr(values[i]); !ok {
			return nil, false
		}
	}
	return expr.NewObject(g.parts, values), true
}

// expr returns an expression over the projection's input with the same value as e over its output.
// It returns false if there is no such expression.
func (a *absorber) expr(e expr.Expr) (expr.Expr, bool) {
	path, isPath := expr.FieldPath(e)
	if isPath && !strings.Contains(path, ".") {
		return a.field(path, e)
	}
	var deps expr.Dependencies
	deps.Depend(e)
	if deps.WholeDocument || deps.Meta {
		return nil, false
	}
	for _, path := range deps.Paths {
		if origin, _ := a.from.Origin(parsing.TopField(path)); origin != projection.Kept {
			return nil, false
		}
	}
	return e, true
}

func (a *absorber) field(name string, e expr.Expr) (expr.Expr, bool) {
	origin, computed := a.from.Origin(name)
	switch origin {
	case projection.Kept:
		return e, true
	case projection.Dropped:
		return &expr.Const{Value: bsonx.Missing}, true
	case projection.Computed:
		_, isPath := expr.FieldPath(computed)
		_, isConst := expr.ConstValue(computed)
		twice := a.used[name] && !isPath && !isConst
		a.used[name] = true
		a.each[name] = a.each[name] || !a.once
		return computed, !twice
	default:
		return nil, false
	}
}

// IsPerDocument implements parsing.PerDocument.
func (*absorbed) IsPerDocument() bool { return true }
