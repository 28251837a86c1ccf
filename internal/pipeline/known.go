package pipeline

import (
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
)

// known returns definitions of the MongoDB stages that Sheaf does not implement.
func known() []parsing.Definition {
	defs := []parsing.Definition{
		{
			Name: "$listSampledQueries", Properties: parsing.OfReport(parsing.FromCollection),
			Inside: parsing.InsideNothing,
		},
		{Name: "$querySettings", Properties: parsing.OfReport(parsing.FromServer), Inside: parsing.InsideNothing},
		{Name: "$queryStats", Properties: parsing.OfReport(parsing.FromServer), Inside: parsing.InsideNothing},
	}
	for i := range defs {
		defs[i].ReadConcern = parsing.AnyLevel
	}
	for _, name := range []string{"$search", "$searchMeta", "$vectorSearch"} {
		properties := parsing.OfDocuments()
		properties.Input, properties.Facets = parsing.FromCollection, feature.No
		defs = append(defs, atlasOnly(name, properties))
	}
	indexes := parsing.OfReport(parsing.FromCollection)
	indexes.ReadConcern = parsing.AnyLevel
	sharded := indexes
	sharded.StableAPI = parsing.EveryUse
	return append(defs, atlasOnly("$listSearchIndexes", indexes), parsing.Definition{
		Name: "$shardedDataDistribution", Note: "sharded clusters only",
		Refuse:     mongoerr.New(6789101, "The $shardedDataDistribution stage can only be run on a sharded cluster"),
		Properties: sharded, Inside: parsing.InsideNothing,
	})
}

func atlasOnly(name string, properties parsing.Properties) parsing.Definition {
	return parsing.Definition{
		Name: name, Note: "Atlas only",
		Refuse: mongoerr.New(mongoerr.SearchNotEnabled,
			"Using $search and $vectorSearch aggregation stages requires additional configuration. "+
				"Please connect to Atlas or an AtlasCLI local deployment to enable."+
				"For more information on how to connect, see https://dochub.mongodb.org/core/atlas-cli-deploy-local-reqs."),
		Properties: properties, Inside: parsing.InsideNothing,
	}
}
