package convert

import "github.com/sheafdb/sheaf/internal/expr"

const family = "conversion"

// Operators returns the definitions of the package.
func Operators() []expr.Definition {
	return []expr.Definition{
		convertDefinition(), toBoolDefinition(), toDateDefinition(), toDecimalDefinition(),
		toDoubleDefinition(), toIntDefinition(), toLongDefinition(), toObjectIdDefinition(),
		toStringDefinition(), toUUIDDefinition(),
	}
}
