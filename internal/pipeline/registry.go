package pipeline

import (
	"slices"
	"strings"
	"sync"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/foreign"
	"github.com/sheafdb/sheaf/internal/pipeline/output"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/serverinfo"
	"github.com/sheafdb/sheaf/internal/pipeline/unwind"
)

// OperatorInfo describes a stage; see expr.OperatorInfo.
type OperatorInfo = expr.OperatorInfo

// definition is one stage. A nil parse means that it is known and not implemented.
type definition struct {
	name     string
	parse    func(arg bsonx.Value, opts parsing.Options) ([]parsing.Stage, error)
	inUpdate bool            // an update's pipeline may have it
	refuse   *mongoerr.Error // what MongoDB itself answers outside Atlas or a sharded cluster
	note     string
	internal bool // what the server puts before a command's stages; users have no need for it
	writes   bool // it writes its input to a collection
}

var registry = sync.OnceValue(func() map[string]*definition {
	defs := append(supported(), known()...)
	table := make(map[string]*definition, len(defs))
	for i := range defs {
		table[defs[i].name] = &defs[i]
	}
	return table
})

func supported() []definition {
	return []definition{
		{name: "$addFields", parse: parseAddFields("$addFields"), inUpdate: true},
		{name: "$bucket", parse: parseBucket},
		{name: "$bucketAuto", parse: parseBucketAuto},
		{name: "$changeStream", parse: parseChangeStream},
		{name: parsing.SplitStage, parse: parseSplitLargeEvent},
		{name: "$collStats", parse: serverinfo.ParseCollStats},
		{name: "$count", parse: parseCount},
		{name: "$currentOp", parse: serverinfo.ParseCurrentOp},
		{name: "$indexStats", parse: serverinfo.ParseIndexStats},
		{name: "$listLocalSessions", parse: serverinfo.ParseListLocalSessions},
		{name: "$listSessions", parse: serverinfo.ParseListSessions},
		{name: "$planCacheStats", parse: serverinfo.ParsePlanCacheStats},
		{name: "$densify", parse: parseDensify},
		{name: "$documents", parse: parseDocuments},
		{name: "$facet", parse: parseFacet},
		{name: "$fill", parse: parseFill},
		{name: "$geoNear", parse: parseGeoNear},
		{name: "$graphLookup", parse: foreign.ParseGraphLookup},
		{name: "$group", parse: parseGroup},
		{name: "$limit", parse: parseLimit},
		{name: "$lookup", parse: foreign.ParseLookup},
		{name: "$match", parse: parseMatch},
		{name: "$merge", parse: output.ParseMerge, writes: true},
		{name: "$out", parse: output.ParseOut, writes: true},
		{name: "$project", parse: parseProject, inUpdate: true},
		{name: "$redact", parse: parseRedact},
		{name: "$replaceRoot", parse: parseReplaceRoot, inUpdate: true},
		{name: "$replaceWith", parse: parseReplaceWith, inUpdate: true},
		{name: "$sample", parse: parseSample},
		{name: "$set", parse: parseAddFields("$set"), inUpdate: true, note: "alias of $addFields"},
		{name: "$setWindowFields", parse: parseSetWindowFields},
		{name: "$skip", parse: parseSkip},
		{name: "$sort", parse: parseSort},
		{name: "$sortByCount", parse: parseSortByCount},
		{name: UnpackBucket, parse: parseUnpackBucket, internal: true},
		{name: "$unionWith", parse: foreign.ParseUnionWith},
		{name: "$unset", parse: parseUnset, inUpdate: true},
		{name: "$unwind", parse: unwind.Parse},
	}
}

func known() []definition {
	names := []string{
		"$listSampledQueries",
		"$querySettings", "$queryStats",
	}
	var defs []definition
	for _, name := range names {
		defs = append(defs, definition{name: name})
	}
	for _, name := range []string{"$search", "$searchMeta", "$vectorSearch", "$listSearchIndexes"} {
		defs = append(defs, definition{
			name: name, note: "Atlas only",
			refuse: mongoerr.New(mongoerr.SearchNotEnabled,
				"Using $search and $vectorSearch aggregation stages requires additional configuration. "+
					"Please connect to Atlas or an AtlasCLI local deployment to enable."+
					"For more information on how to connect, see https://dochub.mongodb.org/core/atlas-cli-deploy-local-reqs."),
		})
	}
	return append(defs, definition{
		name: "$shardedDataDistribution", note: "sharded clusters only",
		refuse: mongoerr.New(6789101, "The $shardedDataDistribution stage can only be run on a sharded cluster"),
	})
}

// Writes reports whether a stage writes its input to a collection.
func Writes(name string) bool {
	def := registry()[name]
	return def != nil && def.writes
}

// Stages lists all stages of MongoDB 8.0 by name.
func Stages() []OperatorInfo {
	var out []OperatorInfo
	for _, def := range registry() {
		info := OperatorInfo{Name: def.name, Family: "stage", Note: def.note}
		switch {
		case def.internal:
			continue
		case def.refuse != nil:
			info.Status = expr.Absent
		case def.parse == nil:
			info.Status = expr.Known
		}
		out = append(out, info)
	}
	slices.SortFunc(out, func(a, b OperatorInfo) int { return strings.Compare(a.Name, b.Name) })
	return out
}
