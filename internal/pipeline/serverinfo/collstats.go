package serverinfo

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// CollStatsDefinition returns the definition of $collStats.
func CollStatsDefinition() parsing.Definition {
	properties := parsing.OfReport(parsing.FromViewStatistics)
	return parsing.Definition{
		Name: "$collStats", Parse: parseCollStats, Properties: properties,
		Safety: parsing.Safety{Writes: feature.No, Transactions: feature.No, StableAPI: parsing.OfCountOnly},
		Inside: parsing.InsideNothing,
	}
}

// parseCollStats compiles $collStats, which reports statistics of the pipeline's collection.
func parseCollStats(arg bsonx.Value, _ parsing.Options) ([]parsing.Stage, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(codeCollStats, "$collStats must take a nested object but found: $collStats: %s", bsonx.FormatShell(arg))
	}
	spec := withoutNulls(arg.Doc())
	err := checkArguments("$collStats", spec, map[string][]bsonx.Type{
		"latencyStats": isObject, "storageStats": isObject, "count": isObject, "queryExecStats": isObject,
	})
	if err != nil {
		return nil, err
	}
	err = checkArguments("$collStats.latencyStats", spec.Lookup("latencyStats").Doc(),
		map[string][]bsonx.Type{"histograms": isFlag})
	if err != nil {
		return nil, err
	}
	storage := spec.Lookup("storageStats").Doc()
	err = checkArguments("$collStats.storageStats", storage, map[string][]bsonx.Type{
		"scale": isNumber, "verbose": isFlag, "waitForLock": isFlag, "numericOnly": isFlag,
	})
	if err != nil {
		return nil, err
	}
	if scale, ok := storage.Lookup("scale").AsFloat64(); ok && scale < 1 {
		return nil, mongoerr.New(mongoerr.BadValue,
			"BSON field 'scale' value must be >= 1, actual value '%d'", int64(scale))
	}
	return []parsing.Stage{&stage{"$collStats", spec, source.Diagnostics.CollStats}}, nil
}

// withoutNulls returns arg without null fields, also in nested documents. MongoDB treats them as
// absent.
func withoutNulls(arg bsonx.Doc) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for it := arg.Iter(); it.Next(); {
		v := it.Value()
		isNull := v.Type == bsonx.TypeNull || v.Type == bsonx.TypeUndefined
		switch {
		// Null is an error for this boolean, so it stays.
		case isNull && string(it.Key()) != "histograms":
		case v.Type == bsonx.TypeDocument:
			b.Doc(string(it.Key()), withoutNulls(v.Doc()))
		default:
			b.ValueBytes(it.Key(), v)
		}
	}
	b.End()
	return b.Bytes()
}
