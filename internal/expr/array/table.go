package array

import (
	"github.com/sheafdb/sheaf/internal/expr"
)

const family = "array"

// Operators returns the definitions of the package.
func Operators() []expr.Definition {
	return []expr.Definition{
		arrayElemAtDefinition(), firstDefinition(), lastDefinition(), concatArraysDefinition(),
		isArrayDefinition(), sizeDefinition(), inDefinition(), sliceDefinition(),
		reverseArrayDefinition(), rangeDefinition(), indexOfArrayDefinition(), mapDefinition(),
		filterDefinition(), reduceDefinition(), sortArrayDefinition(), zipDefinition(),
	}
}
