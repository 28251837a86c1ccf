package pipeline

import (
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
)

// known returns definitions of the MongoDB stages that Sheaf does not implement.
func known() []parsing.Definition {
	search := parsing.OfDocuments()
	search.Input, search.Facets = parsing.FromCollection, feature.No
	return []parsing.Definition{
		notImplemented("$listSampledQueries", parsing.FromCollection),
		notImplemented("$querySettings", parsing.FromServer),
		notImplemented("$queryStats", parsing.FromServer),
		atlasOnly("$search", search,
			parsing.Safety{Writes: feature.No, Transactions: feature.Yes, StableAPI: parsing.EveryUse}),
		atlasOnly("$searchMeta", search,
			parsing.Safety{Writes: feature.No, Transactions: feature.Yes, StableAPI: parsing.EveryUse}),
		atlasOnly("$vectorSearch", search,
			parsing.Safety{Writes: feature.No, Transactions: feature.Yes, StableAPI: parsing.EveryUse}),
		atlasOnly("$listSearchIndexes", ofKnownReport(parsing.FromCollection),
			parsing.Safety{Writes: feature.No, Transactions: feature.No, StableAPI: parsing.NoUse}),
		{
			Name: "$shardedDataDistribution", Note: "sharded clusters only",
			Refuse:     mongoerr.New(6789101, "The $shardedDataDistribution stage can only be run on a sharded cluster"),
			Safety:     parsing.Safety{Writes: feature.No, Transactions: feature.No, StableAPI: parsing.EveryUse},
			Properties: ofKnownReport(parsing.FromCollection), Inside: parsing.InsideNothing,
		},
	}
}

// ofKnownReport returns the properties of a report that fails on every use.
func ofKnownReport(input parsing.Input) parsing.Properties {
	properties := parsing.OfReport(input)
	properties.ReadConcern = parsing.AnyLevel
	return properties
}

// notImplemented returns the definition of a report that MongoDB has and Sheaf does not.
func notImplemented(name string, input parsing.Input) parsing.Definition {
	return parsing.Definition{
		Name:       name,
		Safety:     parsing.Safety{Writes: feature.No, Transactions: feature.No, StableAPI: parsing.NoUse},
		Properties: ofKnownReport(input), Inside: parsing.InsideNothing,
	}
}

func atlasOnly(name string, properties parsing.Properties, safety parsing.Safety) parsing.Definition {
	return parsing.Definition{
		Name: name, Note: "Atlas only",
		Refuse: mongoerr.New(mongoerr.SearchNotEnabled,
			"Using $search and $vectorSearch aggregation stages requires additional configuration. "+
				"Please connect to Atlas or an AtlasCLI local deployment to enable."+
				"For more information on how to connect, see https://dochub.mongodb.org/core/atlas-cli-deploy-local-reqs."),
		Safety: safety, Properties: properties, Inside: parsing.InsideNothing,
	}
}
