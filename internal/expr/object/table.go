package object

import (
	"github.com/sheafdb/sheaf/internal/expr"
)

const family = "object"

// Operators returns the definitions of the package.
func Operators() []expr.Definition {
	return []expr.Definition{
		mergeObjectsDefinition(), objectToArrayDefinition(), arrayToObjectDefinition(),
		getFieldDefinition(), setFieldDefinition(), unsetFieldDefinition(), bsonSizeDefinition(),
		binarySizeDefinition(),
	}
}
