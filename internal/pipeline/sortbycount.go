package pipeline

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
)

func sortByCountDefinition() parsing.Definition {
	return parsing.Definition{
		Name: "$sortByCount", Parse: parseSortByCount,
		Safety:     parsing.Safety{Writes: feature.No, Transactions: feature.Yes, StableAPI: parsing.EveryUse},
		Properties: parsing.OfDocuments(), Inside: insideSortByCount,
	}
}

// parseSortByCount compiles $sortByCount into a $group that counts and a $sort by the count,
// descending.
func parseSortByCount(arg bsonx.Value, opts parsing.Options) ([]parsing.Stage, error) {
	switch arg.Type {
	case bsonx.TypeDocument:
		if !strings.HasPrefix(string(arg.Doc().First().Key), "$") {
			return nil, mongoerr.New(40147, "the sortByCount field must be defined as a $-prefixed path or an expression inside an object")
		}
	case bsonx.TypeString:
		if !strings.HasPrefix(arg.Str(), "$") {
			return nil, mongoerr.New(40148, "the sortByCount field must be defined as a $-prefixed path or an expression inside an object")
		}
	default:
		return nil, mongoerr.New(40149, "the sortByCount field must be specified as a string or as an object")
	}
	g := &group{opts: opts, part: true, spec: bsonx.NewDoc("_id", arg, "count", bsonx.NewDoc("$sum", 1))}
	grouped, err := g.parse()
	if err != nil {
		return nil, err
	}
	ordered, err := parseSort(bsonx.Document(bsonx.NewDoc("count", -1)), opts)
	return append(grouped, ordered...), err
}

func insideSortByCount(arg bsonx.Value, w parsing.Walker) {
	w.Accumulators(countingFields)
	w.Expression(arg)
}
