package pipeline

import (
	"context"
	"slices"

	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/pipeline/foreign"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// sharedRows is what the steps before a $group make of a shared source. Read with Next it is as any other source.
type sharedRows struct {
	source.Source
	shared source.Shared
	steps  []step
	env    *source.Env
	tables []*foreign.Tables // of the steps
}

func newSharedRows(steps []step, shared source.Shared, env *source.Env) *sharedRows {
	s := &sharedRows{shared: shared, steps: slices.Clone(steps), env: env}
	for i := range s.steps {
		if l, ok := s.steps[i].Stage.(*foreign.Lookup); ok {
			own := *l
			own.Tables = new(foreign.Tables)
			s.tables = append(s.tables, own.Tables)
			s.steps[i].Stage = &own
		}
	}
	s.Source = open(s.steps, shared, env)
	return s
}

// Close implements Source.
func (s *sharedRows) Close() {
	s.Source.Close()
	for _, t := range s.tables {
		t.Close()
	}
}

// each calls work with sources that yield the documents between them.
func (s *sharedRows) each(ctx context.Context, work func(ctx context.Context, in source.Source) error) (workers int, err error) {
	return s.shared.Share(ctx, func(ctx context.Context, in source.Source) error {
		rows := open(s.steps, in, s.env)
		defer rows.Close()
		return work(ctx, rows)
	})
}

func open(steps []step, src source.Source, env *source.Env) source.Source {
	for _, s := range steps {
		src = s.Open(src, env.For(s.budgetName()))
	}
	return src
}

// share runs the steps up to the first $group, if all of them let several goroutines work on a document each, over a source
// that can be shared. It returns the steps that are left.
func share(steps []step, src source.Source, env *source.Env, operators *expr.Table) (source.Source, []step) {
	shared, ok := src.(source.Shared)
	if !ok {
		return src, steps
	}
	for i, s := range steps {
		if g, ok := s.Stage.(*group); ok {
			if !g.isUnordered() || g.readsMeta || !isRepeatable(s.spec, operators) {
				return src, steps
			}
			return g.Open(newSharedRows(steps[:i], shared, env), env.For(s.budgetName())), steps[i+1:]
		}
		if !perDocument(s, operators) {
			return src, steps
		}
	}
	return src, steps
}

// perDocument reports whether a step makes of each document what it would make of it alone.
func perDocument(s step, operators *expr.Table) bool {
	stage, ok := s.Stage.(parsing.PerDocument)
	return ok && stage.IsPerDocument() && isRepeatable(s.spec, operators)
}

// isUnordered reports whether the order of the documents does not show in the groups: not more than in which of several
// equal numbers an extreme is, and in the last digit of a sum of doubles.
func (g *group) isUnordered() bool {
	for _, f := range g.fields {
		if !f.Unordered {
			return false
		}
	}
	return true
}

// Meta implements MetaSource.
func (s *sharedRows) Meta() *expr.Meta { return source.MetaOf(s.Source) }

// budgetName returns the name of the limit that a stage has.
func (s step) budgetName() string {
	if stage, ok := s.Stage.(parsing.Budgeted); ok {
		return stage.BudgetOf()
	}
	return s.name
}
