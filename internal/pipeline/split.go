package pipeline

import (
	"math"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/projection"
)

// PushedProject is a leading projection stage that the planner can run.
type PushedProject struct {
	Projection *projection.Projection
	Spec       bsonx.Doc
}

// SplitProject removes a leading $project, for the planner to run after the query, and returns it
// with the remaining pipeline. The first result is nil if the first stage is not a $project, or if
// simple is true and the $project computes fields.
func (p *Pipeline) SplitProject(simple bool) (*PushedProject, *Pipeline) {
	if len(p.steps) == 0 {
		return nil, p
	}
	s, ok := p.steps[0].Stage.(*project)
	if !ok || s.projection.IsAddition() {
		return nil, p
	}
	if computed, _ := s.projection.Computed(); simple && len(computed) > 0 {
		return nil, p
	}
	return p.pushFirst(s)
}

// SplitMeta removes a leading $project or $addFields that reads metadata known only to the planner,
// for the planner to run. The first result is nil if there is no such stage.
func (p *Pipeline) SplitMeta() (*PushedProject, *Pipeline) {
	if len(p.steps) == 0 {
		return nil, p
	}
	s, ok := p.steps[0].Stage.(*project)
	if !ok || !slices.ContainsFunc(s.projection.MetaKinds(), isPlanMeta) {
		return nil, p
	}
	return p.pushFirst(s)
}

func isPlanMeta(kind string) bool { return expr.Metadata(kind).Planned }

// pushFirst removes the first stage s and returns it with the remaining pipeline.
func (p *Pipeline) pushFirst(s *project) (*PushedProject, *Pipeline) {
	e := expr.Serializer{Vars: p.opts.Vars, Now: p.opts.Now}
	return &PushedProject{s.projection, s.projection.Serialize(e)}, &Pipeline{steps: p.steps[1:], opts: p.opts}
}

// Leading is the part at the beginning of a pipeline that the planner can run as a query.
type Leading struct {
	// Near is a leading $geoNear, or nil. If it is set, all other fields are empty.
	Near *GeoNear
	// Filter combines the predicates of all leading $match stages. It is nil if the first stage is
	// not a $match.
	Filter bsonx.Doc
	// Sort is the pattern of the $sort that follows the leading $match stages. It is nil if another
	// stage follows them.
	Sort bsonx.Doc
	// Skip and Limit are the numbers of $skip and $limit after the sort. The skip comes first. A
	// Limit of 0 means no limit.
	Skip, Limit int64
}

// leadingBounds removes leading $skip and $limit stages, and combines them into one skip followed
// by one limit. limited is 0 if there is no limit.
func leadingBounds(steps []step) (skipped, limited int64, rest []step) {
	for i, s := range steps {
		switch stage := s.Stage.(type) {
		case *skip:
			if limited > 0 && stage.n >= limited || stage.n > math.MaxInt64-skipped {
				return skipped, limited, steps[i:]
			}
			skipped += stage.n
			if limited > 0 {
				limited -= stage.n
			}
		case *limit:
			if limited == 0 || stage.n < limited {
				limited = stage.n
			}
		default:
			return skipped, limited, steps[i:]
		}
	}
	return skipped, limited, nil
}

// Split separates the leading $match, $sort, $skip and $limit stages, which the planner can run.
// The second result is the rest of the pipeline, to be run over the planner's results.
func (p *Pipeline) Split() (Leading, *Pipeline) {
	var lead Leading
	var predicates []bsonx.Value
	steps := p.steps
	if len(steps) > 0 {
		if near, ok := steps[0].Stage.(*GeoNear); ok {
			return Leading{Near: near}, &Pipeline{steps: steps[1:], opts: p.opts}
		}
	}
	for len(steps) > 0 {
		m, ok := steps[0].Stage.(*match)
		if !ok {
			break
		}
		predicates = append(predicates, bsonx.Document(m.filter.Spec()))
		steps = steps[1:]
	}
	if len(steps) > 0 {
		if s, ok := steps[0].Stage.(*sort); ok {
			lead.Sort = s.pattern
			steps = steps[1:]
		}
	}
	lead.Skip, lead.Limit, steps = leadingBounds(steps)
	switch len(predicates) {
	case 0:
	case 1:
		lead.Filter = predicates[0].Doc()
	default:
		lead.Filter = bsonx.NewDoc("$and", predicates)
	}
	return lead, &Pipeline{steps: steps, opts: p.opts}
}
