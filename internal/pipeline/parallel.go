package pipeline

import (
	"context"
	"slices"

	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/pipeline/foreign"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// sharedRows is the output of the steps before a $group over a shared source. Several goroutines
// can read it with each; Next reads it on one goroutine.
type sharedRows struct {
	source.Source
	shared source.Shared
	steps  []step
	env    *source.Env
	tables []*foreign.Tables // the hash tables of the $lookup steps, which the goroutines share
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

// Close implements source.Source.
func (s *sharedRows) Close() {
	s.Source.Close()
	for _, t := range s.tables {
		t.Close()
	}
}

// each calls work on several goroutines, each with a source of its own. Together the sources yield
// every document once. See source.Shared for the results.
func (s *sharedRows) each(ctx context.Context,
	work func(ctx context.Context, in source.Source) error,
) (workers int, err error) {
	return s.shared.Share(ctx, func(ctx context.Context, in source.Source) error {
		rows := open(s.steps, in, s.env)
		defer rows.Close()
		return work(ctx, rows)
	})
}

func open(steps []step, src source.Source, env *source.Env) source.Source {
	for _, s := range steps {
		src = s.Open(src, env)
	}
	return src
}

// share lets several goroutines run the steps up to the first $group, and returns the source of its
// results with the remaining steps. It returns its arguments unchanged if the source cannot be
// shared, or a step needs the documents in order.
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
			return g.Open(newSharedRows(steps[:i], shared, env), env), steps[i+1:]
		}
		if !perDocument(s, operators) {
			return src, steps
		}
	}
	return src, steps
}

// perDocument reports whether the output of a step for a document depends on that document alone.
func perDocument(s step, operators *expr.Table) bool {
	stage, ok := s.Stage.(parsing.PerDocument)
	return ok && stage.IsPerDocument() && isRepeatable(s.spec, operators)
}

// isUnordered reports whether the results of the accumulators do not depend on the order of
// documents. Two differences are accepted: the numeric type of an extreme, if equal numbers differ
// in type, and the last digit of a sum of doubles.
func (g *group) isUnordered() bool {
	for _, f := range g.fields {
		if !f.Unordered {
			return false
		}
	}
	return true
}

// Meta implements source.MetaSource.
func (s *sharedRows) Meta() *expr.Meta { return source.MetaOf(s.Source) }
