package object

import (
	"github.com/sheafdb/sheaf/internal/expr"
)

// Operators returns the definitions of the package.
func Operators() []expr.Definition {
	return []expr.Definition{
		expr.Lazily(expr.WatchN("$mergeObjects", "object", 0, -1, mergeObjects), 1),
		expr.Watch1("$objectToArray", "object", objectToArray),
		expr.Watch1("$arrayToObject", "object", arrayToObject),
		{Name: "$getField", Family: "object", Min: 1, Max: 1, Parse: parseGetField, Late: true},
		{Name: "$setField", Family: "object", Min: 1, Max: 1, Parse: parseSetField, Late: true},
		{Name: "$unsetField", Family: "object", Min: 1, Max: 1, Parse: parseUnsetField, Late: true},
		expr.Op1("$bsonSize", "object", bsonSize),
		expr.Op1("$binarySize", "object", binarySize),
	}
}
