package str

import (
	"github.com/sheafdb/sheaf/internal/expr"
)

const family = "string"

// Operators returns the definitions of the package.
func Operators() []expr.Definition {
	return []expr.Definition{
		regexFindDefinition(), regexFindAllDefinition(), regexMatchDefinition(), concatDefinition(),
		toLowerDefinition(), toUpperDefinition(), strcasecmpDefinition(), substrDefinition(),
		substrBytesDefinition(), substrCPDefinition(), strLenBytesDefinition(), strLenCPDefinition(),
		splitDefinition(), indexOfBytesDefinition(), indexOfCPDefinition(), trimDefinition(),
		ltrimDefinition(), rtrimDefinition(), replaceOneDefinition(), replaceAllDefinition(),
	}
}
