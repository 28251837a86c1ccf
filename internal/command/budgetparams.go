package command

import (
	"math"

	"github.com/sheafdb/sheaf/internal/failpoint"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/param"
	"github.com/sheafdb/sheaf/internal/pipeline"
)

// minLookupBytes is the least that internalLookupStageIntermediateDocumentMaxSizeBytes may be: a document inside MongoDB.
const minLookupBytes = limits.InternalDocumentBytes

// budgetParams are the parameters of the stages' budgets.
func (s *Service) budgetParams() []param.Param {
	stage := func(name, stage string, least int64) param.Param {
		return param.Int(name, limits.OperatorBytes, least, math.MaxInt64, func(n int64) { s.Read.Budgets.Put(stage, n) })
	}
	sort := param.Int(SortMemoryParam, limits.OperatorBytes, 0, math.MaxInt64, func(n int64) {
		s.Read.Budgets.Put("$sort", max(n, 1))
		if s.Planner != nil {
			s.Planner.SetSortMemory(int(max(n, 1)))
		}
	})
	return []param.Param{
		sort,
		stage("internalQueryFacetMaxOutputDocSizeBytes", "$facet", 1),
		stage("internalDocumentSourceGroupMaxMemoryBytes", "$group", 1),
		stage("internalDocumentSourceSetWindowFieldsMaxMemoryBytes", "$setWindowFields", 1),
		stage("internalDocumentSourceBucketAutoMaxMemoryBytes", "$bucketAuto", 1),
		stage("internalDocumentSourceDensifyMaxMemoryBytes", "$densify", 1),
		stage("internalDocumentSourceGraphLookupMaxMemoryBytes", "$graphLookup", 1),
		stage("internalLookupStageIntermediateDocumentMaxSizeBytes", "$lookup", limits.InternalDocumentBytes),
	}
}

// SortMemoryParam is the parameter with the memory of a sort, in bytes.
const SortMemoryParam = "internalQueryMaxBlockingSortMemoryUsageBytes"

// disabledRules are the rules of the optimiser that a fail point switches off.
func (s *Service) disabledRules() pipeline.Rule {
	if s.FailPoints.IsOn(failpoint.DisableOptimization) {
		return pipeline.AllRules
	}
	return 0
}
