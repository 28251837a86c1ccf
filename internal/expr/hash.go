package expr

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/index"
)

func hashOperators() []definition {
	return []definition{{name: "$toHashedIndexKey", family: "miscellaneous", parse: parseHashedKey, late: true}}
}

// parseHashedKey takes an array as it stands: it is the value, not a list of operands.
func parseHashedKey(p *parser, _ *definition, arg bsonx.Value, vars *Vars) (Expr, error) {
	e, err := p.operand(arg, vars.unoptimized())
	if err != nil {
		return nil, err
	}
	return &call1{arg: e, running: vars.Scripts().Running, fn: func(out *bsonx.Arena, v bsonx.Value) (bsonx.Value, error) {
		if v.IsMissing() {
			v = bsonx.Null
		}
		return out.Int64(index.HashedKey(v)), nil
	}}, nil
}
