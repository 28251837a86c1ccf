package pipeline

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/pipeline/foreign"
)

// with returns u with another stage at the end of its sub-pipeline. It returns false if the
// sub-pipeline would exceed limits.PipelineStages.
func with(u *foreign.UnionWith, name string, arg bsonx.Value) (step, bool) {
	if len(u.Stages) >= limits.PipelineStages {
		return step{}, false
	}
	out := *u
	out.Stages = append(slices.Clone(u.Stages), bsonx.Document(bsonx.NewDoc(name, arg)))
	spec := bsonx.NewDoc("coll", u.Coll, "pipeline", out.Stages)
	if u.Coll == "" {
		spec = bsonx.NewDoc("pipeline", out.Stages)
	}
	return step{"$unionWith", bsonx.Document(spec), &out}, true
}

// uniteScores moves a projection that reads text scores or sort keys from after a $unionWith to
// before it and to the end of the sub-pipeline. The planner of each part knows this metadata. The
// order of the documents does not change.
func uniteScores(steps []step) []step {
	for i := 0; i+1 < len(steps); i++ {
		u, isUnion := steps[i].Stage.(*foreign.UnionWith)
		next := steps[i+1]
		p, isProject := next.Stage.(*project)
		if !isUnion || !isProject || !readsPlanned(p.projection.MetaKinds()) ||
			p.spec == nil {
			continue
		}
		united, ok := with(u, p.name, bsonx.Document(p.spec))
		if !ok {
			continue
		}
		steps = slices.Clone(steps)
		steps[i], steps[i+1] = next, united
		i = -1 // start again, because there may be another $unionWith before
	}
	return steps
}

// readsPlanned reports whether kinds contains metadata that only the plan of a query provides.
func readsPlanned(kinds []string) bool {
	return slices.Contains(kinds, scoreKind) || slices.Contains(kinds, sortKeyKind)
}
