package pipeline

import (
	"slices"
	"strings"
	"sync"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/pipeline/foreign"
	"github.com/sheafdb/sheaf/internal/pipeline/output"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/serverinfo"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
	"github.com/sheafdb/sheaf/internal/pipeline/unwind"
)

// definitions returns the definitions of all stages.
func definitions() []parsing.Definition {
	return append([]parsing.Definition{
		addFieldsDefinition(), bucketDefinition(), bucketAutoDefinition(), changeStreamDefinition(),
		splitLargeEventDefinition(), countDefinition(), densifyDefinition(), documentsDefinition(),
		facetDefinition(), fillDefinition(), geoNearDefinition(), groupDefinition(), limitDefinition(),
		matchDefinition(), projectDefinition(), redactDefinition(), replaceRootDefinition(),
		replaceWithDefinition(), sampleDefinition(), setDefinition(), setWindowFieldsDefinition(),
		skipDefinition(), sortDefinition(), sortByCountDefinition(), unpackBucketDefinition(),
		unsetDefinition(), unwind.Definition(),
		foreign.GraphLookupDefinition(), foreign.LookupDefinition(), foreign.UnionWithDefinition(),
		output.MergeDefinition(), output.OutDefinition(),
		serverinfo.CollStatsDefinition(), serverinfo.CurrentOpDefinition(),
		serverinfo.IndexStatsDefinition(), serverinfo.ListLocalSessionsDefinition(),
		serverinfo.ListSessionsDefinition(), serverinfo.PlanCacheStatsDefinition(),
	}, known()...)
}

var registry = sync.OnceValue(func() map[string]*parsing.Definition {
	defs := definitions()
	table := make(map[string]*parsing.Definition, len(defs))
	for i := range defs {
		table[defs[i].Name] = &defs[i]
	}
	return table
})

// First returns the definition of the first stage in a list. It returns nil if there is no stage,
// or if MongoDB has no stage of its name.
func First(stages []bsonx.Value) *parsing.Definition {
	if len(stages) == 0 || stages[0].Type != bsonx.TypeDocument {
		return nil
	}
	return Find(string(stages[0].Doc().First().Key))
}

// Find returns the definition of a stage of MongoDB, or nil if MongoDB has no stage of that name.
func Find(name string) *parsing.Definition { return registry()[name] }

// Writes reports whether the stage writes its input to a collection, as $out and $merge do.
func Writes(name string) bool {
	def := Find(name)
	return def != nil && def.Writes == feature.Yes
}

// Stages lists all stages of MongoDB 8.0, sorted by name, with their status.
func Stages() []feature.Info {
	var out []feature.Info
	for _, def := range registry() {
		info := feature.Info{Name: def.Name, Family: "stage", Note: def.Note}
		switch {
		case def.Internal:
			continue
		case def.Refuse != nil:
			info.Status = feature.Absent
		case def.Parse == nil && def.Transform == nil:
			info.Status = feature.Known
		}
		out = append(out, info)
	}
	slices.SortFunc(out, func(a, b feature.Info) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Budgets returns the memory limits of the stages that have their own.
func Budgets() []source.Budget {
	var budgets []source.Budget
	for _, def := range registry() {
		if def.Budget.Param != "" {
			budgets = append(budgets, def.Budget)
		}
	}
	return budgets
}
