package parsing

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// Let is a variable that a stage passes to its sub-pipeline.
type Let struct {
	Name  string
	Value expr.Expr
}

// letVarBytes estimates the memory of a variable and its scope in bytes, without its expression.
const letVarBytes = 160

// ParseLets compiles the variables of let. It also returns the scope vars extended by them.
func ParseLets(let bsonx.Doc, vars *expr.Vars) ([]Let, *expr.Vars, error) {
	var out []Let
	inner := vars
	if let == nil {
		return nil, inner, nil
	}
	var meter interrupt.Meter
	for it := let.Iter(); it.Next(); {
		if err := meter.Did(PathWork, vars.Scripts().Running); err != nil {
			return nil, nil, err
		}
		v := Let{Name: string(it.Key())}
		if err := expr.CheckVariableName(v.Name); err != nil {
			return nil, nil, err
		}
		var err error
		if v.Value, err = expr.Parse(it.Value().Clone(), vars); err != nil {
			return nil, nil, err
		}
		out = append(out, v)
		inner, _ = inner.WithSlot(v.Name)
		if err := vars.Hold(letVarBytes + int64(len(v.Name))); err != nil {
			return nil, nil, err
		}
	}
	return out, inner, nil
}
