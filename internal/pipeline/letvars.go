package pipeline

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// letVar is a variable that a stage gives its sub-pipeline.
type letVar struct {
	name  string
	value expr.Expr
}

// letVarBytes is about what a variable takes beside its expression, with its scope.
const letVarBytes = 160

// parseLetVars compiles variables. It returns a scope that has them too.
func parseLetVars(let bsonx.Doc, vars *expr.Vars) ([]letVar, *expr.Vars, error) {
	var out []letVar
	inner := vars
	if let == nil {
		return nil, inner, nil
	}
	var meter interrupt.Meter
	for it := let.Iter(); it.Next(); {
		if err := meter.Did(pathWork, vars.Scripts().Running); err != nil {
			return nil, nil, err
		}
		v := letVar{name: string(it.Key())}
		if err := expr.CheckVariableName(v.name); err != nil {
			return nil, nil, err
		}
		var err error
		if v.value, err = expr.Parse(it.Value().Clone(), vars); err != nil {
			return nil, nil, err
		}
		out = append(out, v)
		inner, _ = inner.WithSlot(v.name)
		if err := vars.Hold(letVarBytes + int64(len(v.name))); err != nil {
			return nil, nil, err
		}
	}
	return out, inner, nil
}
