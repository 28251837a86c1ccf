package pipeline

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/pipeline/foreign"
)

// with returns the stage with another one at the end of its pipeline, false where that has no room
// for it.
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

// uniteScores lets the pipelines of $unionWith read the scores and sort keys that the next stage
// reads, where their text searches and sorts are known. The order of the documents stays as it is.
func uniteScores(steps []step) []step {
	for i := 0; i+1 < len(steps); i++ {
		u, isUnion := steps[i].Stage.(*foreign.UnionWith)
		next := steps[i+1]
		p, isProject := next.Stage.(*project)
		if !isUnion || !isProject || !readsPlanned(p.projection.MetaKinds()) || next.spec.Type != bsonx.TypeDocument || next.name == "$fill" {
			continue
		}
		united, ok := with(u, next.name, next.spec)
		if !ok {
			continue
		}
		steps = slices.Clone(steps)
		steps[i], steps[i+1] = next, united
		i = -1 // there may be another $unionWith before it
	}
	return steps
}

// readsPlanned reports whether kinds of metadata are among those that only the plan of a query knows.
func readsPlanned(kinds []string) bool {
	return slices.Contains(kinds, scoreKind) || slices.Contains(kinds, sortKeyKind)
}
