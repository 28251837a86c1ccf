package expr

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/index"
)

func toHashedIndexKeyDefinition() Definition {
	return Definition{
		Name: "$toHashedIndexKey", Family: "miscellaneous", Parse: parseHashedKey,
		Total: feature.No, Folds: feature.No, Depends: OnOperands, StableAPI: feature.Yes,
	}
}

// parseHashedKey compiles the operand. An array is the value to hash, and not a list of operands.
func parseHashedKey(p *Parser, _ *Definition, arg bsonx.Value, vars *Vars) (Expr, error) {
	e, err := p.Operand(arg, vars.Unoptimized())
	if err != nil {
		return nil, err
	}
	running := vars.Scripts().Running
	return &call1{arg: e, running: running, fn: func(out *bsonx.Arena, v bsonx.Value) (bsonx.Value, error) {
		if v.IsMissing() {
			v = bsonx.Null
		}
		key, err := index.HashedKey(v, running)
		if err != nil {
			return bsonx.Missing, err
		}
		return out.Int64(key), nil
	}}, nil
}
