package set

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func setIsSubsetDefinition() expr.Definition {
	return expr.Definition{
		Name: "$setIsSubset", Family: family, Parse: parseIsSubset,
		Min: 2, Max: 2, Lazy: &expr.Laziness{From: 1, Rest: []bsonx.Value{bsonx.Missing, bsonx.NewArray()}},
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

var parseOperands = expr.CollateN(isSubset)

// parseIsSubset compiles $setIsSubset. It checks the type of a constant second operand.
func parseIsSubset(p *expr.Parser, def *expr.Definition, arg bsonx.Value, vars *expr.Vars) (expr.Expr, error) {
	e, err := parseOperands(p, def, arg, vars)
	if err != nil || expr.AllConst(e.Children()) {
		return e, err
	}
	if c, ok := e.Children()[1].(*expr.Const); ok && c.Value.Type != bsonx.TypeArray {
		vars.Failures().Add(mongoerr.New(17311, "both operands of $setIsSubset must be arrays. Second argument is of type: %s", c.Value.Type))
	}
	return e, nil
}

func isSubset(c *collation.Collator) expr.WatchingN {
	return func(args []bsonx.Value, running *interrupt.Running) (bsonx.Value, error) {
		return sets{c, running}.isSubset(args[0], args[1])
	}
}

func (s sets) isSubset(a, b bsonx.Value) (bsonx.Value, error) {
	if a.Type != bsonx.TypeArray {
		return bsonx.Missing, mongoerr.New(17046, "both operands of $setIsSubset must be arrays. First argument is of type: %s", a.Type)
	}
	if b.Type != bsonx.TypeArray {
		return bsonx.Missing, mongoerr.New(17042, "both operands of $setIsSubset must be arrays. Second argument is of type: %s", b.Type)
	}
	set, err := s.sorted(b)
	if err != nil {
		return bsonx.Missing, err
	}
	var meter interrupt.Meter
	by := s.collation.Comparer(s.running)
	for it := a.Doc().Iter(); it.Next(); {
		if err := meter.Did(searchWork, s.running); err != nil {
			return bsonx.Missing, err
		}
		if !contains(set, it.Value(), by) {
			return bsonx.False, by.Ended()
		}
	}
	return bsonx.True, by.Ended()
}
