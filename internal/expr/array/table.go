package array

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
)

// Operators returns the definitions of the package.
func Operators() []expr.Definition {
	return []expr.Definition{
		expr.OpN("$arrayElemAt", "array", 2, 2, arrayElemAt),
		expr.Op1("$first", "array", func(v bsonx.Value) (bsonx.Value, error) { return elementOf("$first", v, 0) }),
		expr.Op1("$last", "array", func(v bsonx.Value) (bsonx.Value, error) { return elementOf("$last", v, -1) }),
		expr.Lazily(expr.WatchAssociative("$concatArrays", "array", expr.AssocFull, concatArrays), 1),
		expr.Total(expr.Op1("$isArray", "array", func(v bsonx.Value) (bsonx.Value, error) { return bsonx.Bool(v.Type == bsonx.TypeArray), nil })),
		expr.Make1("$size", "array", size),
		expr.Collate2("$in", "array", in),
		expr.Lazily(expr.WatchN("$slice", "array", 2, 3, slice), 2, bsonx.Missing, bsonx.Missing, bsonx.Int32(1)),
		expr.Watch1("$reverseArray", "array", reverseArray),
		expr.Lazily(expr.WatchN("$range", "array", 2, 3, rangeOf), 2, bsonx.Missing, bsonx.Missing, bsonx.Int32(1)),
		expr.Lazily(indexOfArrayOperator(), 1, bsonx.Missing, bsonx.Int32(0), bsonx.Int32(0), bsonx.Int32(0)),
		{Name: "$map", Family: "array", Min: 1, Max: 1, Parse: parseMap, Late: true},
		{Name: "$filter", Family: "array", Min: 1, Max: 1, Parse: parseFilter, Late: true},
		{Name: "$reduce", Family: "array", Min: 1, Max: 1, Parse: parseReduce, Late: true},
		{Name: "$sortArray", Family: "array", Parse: parseSortArray, Late: true},
		{Name: "$zip", Family: "array", Parse: parseZip, Late: true},
	}
}
