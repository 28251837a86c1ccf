package serverinfo

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// IndexStatsDefinition returns the definition of $indexStats.
func IndexStatsDefinition() parsing.Definition {
	return parsing.Definition{
		Name: "$indexStats", Parse: parseIndexStats,
		Safety:     parsing.Safety{Writes: feature.No, Transactions: feature.No, StableAPI: parsing.NoUse},
		Properties: parsing.OfReport(parsing.FromStatistics), Inside: parsing.InsideNothing,
	}
}

// parseIndexStats compiles $indexStats, which reports how often each index was used.
func parseIndexStats(arg bsonx.Value, _ parsing.Options) ([]parsing.Stage, error) {
	if arg.Type != bsonx.TypeDocument || !arg.Doc().IsEmpty() {
		return nil, mongoerr.New(codeIndexStats, "The $indexStats stage specification must be an empty object")
	}
	return []parsing.Stage{&stage{"$indexStats", bsonx.Empty, source.Diagnostics.IndexStats}}, nil
}
