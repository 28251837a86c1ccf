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

// absorbed stands for a stage whose work the next one does.
type absorbed struct{ parsing.Stage }

func (*absorbed) Open(src source.Source, _ *source.Env) source.Source { return src }

func (*absorbed) Needs(*parsing.Needs) {}

// absorbProjects lets a $group compute what the stage before it computes, without a document in between. What may fail must be
// computed for each document as before: where the $group does not, the stage stays.
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

// Unabsorbed returns the pipeline with its stages as they were before one did the work of another.
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

// absorber rewrites the expressions of a $group so that they read documents as they were before a projection.
type absorber struct {
	from *projection.Projection
	used map[string]bool // the computed fields that are read already
	each map[string]bool // those of them that are read of each document
	once bool            // what is rewritten is not computed for each
}

// group returns the rewritten stage; nil where that cannot be done, or would compute something twice.
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
		return nil // the operation has ended, as somebody will notice who may say so
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

// expr returns an expression that is to the document what e is to the projected one.
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
