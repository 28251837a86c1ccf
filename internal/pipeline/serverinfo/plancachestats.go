package serverinfo

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// PlanCacheStatsDefinition returns the definition of $planCacheStats.
func PlanCacheStatsDefinition() parsing.Definition {
	return parsing.Definition{
		Name: "$planCacheStats", Parse: parsePlanCacheStats,
		Safety:     parsing.Safety{Writes: feature.No, Transactions: feature.No, StableAPI: parsing.NoUse},
		Properties: parsing.OfReport(parsing.FromStatistics), Inside: parsing.InsideNothing,
	}
}

// parsePlanCacheStats compiles $planCacheStats, which lists the cached plans of the pipeline's
// collection.
func parsePlanCacheStats(arg bsonx.Value, _ parsing.Options) ([]parsing.Stage, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(mongoerr.FailedToParse, "$planCacheStats value must be an object. Found: %s", arg.Type)
	}
	for it := arg.Doc().Iter(); it.Next(); {
		name, v := string(it.Key()), it.Value()
		if name != "allHosts" {
			return nil, mongoerr.New(mongoerr.FailedToParse, "$planCacheStats parameters object may contain only 'allHosts' field. Found: %s", name)
		}
		if v.Type != bsonx.TypeBool {
			return nil, mongoerr.New(13111, "wrong type for field (allHosts) %s != bool", v.Type)
		}
	}
	if arg.Doc().Lookup("allHosts").Truthy() {
		return nil, mongoerr.New(4503200, "$planCacheStats stage supports allHosts parameter only for sharded clusters")
	}
	shown := bsonx.NewDoc("allHosts", false)
	return []parsing.Stage{&stage{"$planCacheStats", shown, source.Diagnostics.PlanCacheStats}}, nil
}
