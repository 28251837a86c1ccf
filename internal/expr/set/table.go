package set

import (
	"github.com/sheafdb/sheaf/internal/expr"
)

const family = "set"

// Operators returns the definitions of the package.
func Operators() []expr.Definition {
	return []expr.Definition{
		setUnionDefinition(), setIntersectionDefinition(), setDifferenceDefinition(),
		setEqualsDefinition(), setIsSubsetDefinition(), allElementsTrueDefinition(),
		anyElementTrueDefinition(),
	}
}
