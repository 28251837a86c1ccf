package arithmetic

import (
	"github.com/sheafdb/sheaf/internal/expr"
)

const family = "arithmetic"

// Operators returns the definitions of the package.
func Operators() []expr.Definition {
	return []expr.Definition{
		addDefinition(), subtractDefinition(), multiplyDefinition(), divideDefinition(), modDefinition(),
		absDefinition(), ceilDefinition(), floorDefinition(), sqrtDefinition(), expDefinition(),
		lnDefinition(), log10Definition(), logDefinition(), powDefinition(), roundDefinition(),
		truncDefinition(), bitAndDefinition(), bitOrDefinition(), bitXorDefinition(), bitNotDefinition(),
		sinDefinition(), cosDefinition(), tanDefinition(), sinhDefinition(), coshDefinition(),
		tanhDefinition(), asinDefinition(), acosDefinition(), atanDefinition(), asinhDefinition(),
		acoshDefinition(), atanhDefinition(), atan2Definition(), degreesToRadiansDefinition(),
		radiansToDegreesDefinition(),
	}
}
