package expr

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func setOperators() []definition {
	return []definition{
		lazily(opAssociative("$setUnion", "set", commutable, plainN(setUnion)), 1),
		lazily(opAssociative("$setIntersection", "set", commutable, plainN(setIntersection)), 1),
		op2("$setDifference", "set", setDifference),
		lazily(definition{name: "$setEquals", family: "set", min: 2, max: -1, parse: parseSetEquals}, 1),
		lazily(setIsSubsetOperator(), 1, bsonx.Missing, bsonx.NewArray()),
		op1("$allElementsTrue", "set", allElementsTrue),
		op1("$anyElementTrue", "set", anyElementTrue),
	}
}

// sorted returns the distinct elements of an array in order.
func sorted(array bsonx.Value) []bsonx.Value {
	values := array.Doc().Values()
	slices.SortStableFunc(values, bsonx.CompareValues)
	return slices.CompactFunc(values, func(a, b bsonx.Value) bool { return bsonx.CompareValues(a, b) == 0 })
}

func contains(set []bsonx.Value, v bsonx.Value) bool {
	_, found := slices.BinarySearchFunc(set, v, bsonx.CompareValues)
	return found
}

func arrayOf(values []bsonx.Value) bsonx.Value { return bsonx.ValueOf(values) }

func setUnion(args []bsonx.Value) (bsonx.Value, error) {
	var all []bsonx.Value
	for _, v := range args {
		if nullish(v) {
			return bsonx.Null, nil
		}
		if v.Type != bsonx.TypeArray {
			return bsonx.Missing, mongoerr.New(17043, "All operands of $setUnion must be arrays. One argument is of type: %s", v.Type)
		}
		all = append(all, v.Doc().Values()...)
	}
	if err := checkBytes("$setUnion", totalBytes(args)); err != nil {
		return bsonx.Missing, err
	}
	return arrayOf(sorted(arrayOf(all))), nil
}

func setIntersection(args []bsonx.Value) (bsonx.Value, error) {
	var common []bsonx.Value
	for i, v := range args {
		if nullish(v) {
			return bsonx.Null, nil
		}
		if v.Type != bsonx.TypeArray {
			return bsonx.Missing, mongoerr.New(17047, "All operands of $setIntersection must be arrays. One argument is of type: %s", v.Type)
		}
		set := sorted(v)
		if i == 0 {
			common = set
			continue
		}
		common = slices.DeleteFunc(common, func(v bsonx.Value) bool { return !contains(set, v) })
	}
	return arrayOf(common), nil
}

// setDifference keeps the order of the first operand.
func setDifference(a, b bsonx.Value) (bsonx.Value, error) {
	if nullish(a) || nullish(b) {
		return bsonx.Null, nil
	}
	if a.Type != bsonx.TypeArray {
		return bsonx.Missing, mongoerr.New(17048, "both operands of $setDifference must be arrays. First argument is of type: %s", a.Type)
	}
	if b.Type != bsonx.TypeArray {
		return bsonx.Missing, mongoerr.New(17049, "both operands of $setDifference must be arrays. Second argument is of type: %s", b.Type)
	}
	seen := sorted(b)
	out := []bsonx.Value{}
	for it := a.Doc().Iter(); it.Next(); {
		at, found := slices.BinarySearchFunc(seen, it.Value(), bsonx.CompareValues)
		if !found {
			out = append(out, it.Value())
			seen = slices.Insert(seen, at, it.Value())
		}
	}
	return arrayOf(out), nil
}

func parseSetEquals(p *parser, def *definition, arg bsonx.Value, vars *Vars) (Expr, error) {
	args, err := p.operands(arg, vars)
	if err != nil {
		return nil, err
	}
	if len(args) < 2 {
		return nil, mongoerr.New(17045, "$setEquals needs at least two arguments had: %d", len(args))
	}
	for i, e := range args {
		if c, ok := e.(*Const); ok && c.Value.Type != bsonx.TypeArray {
			vars.Failures().Add(mongoerr.New(5887502, "All operands of $setEquals must be arrays. %d-th argument is of type: %s", i+1, c.Value.Type))
		}
	}
	return &callN{op: def.name, args: args, running: vars.Scripts().Running, fn: plainN(setEquals)}, nil
}

func setEquals(args []bsonx.Value) (bsonx.Value, error) {
	var first []bsonx.Value
	for i, v := range args {
		if v.Type != bsonx.TypeArray {
			return bsonx.Missing, mongoerr.New(17044, "All operands of $setEquals must be arrays. %d-th argument is of type: %s", i+1, v.Type)
		}
		set := sorted(v)
		if i == 0 {
			first = set
		}
		if !slices.EqualFunc(first, set, func(a, b bsonx.Value) bool { return bsonx.CompareValues(a, b) == 0 }) {
			return bsonx.False, nil
		}
	}
	return bsonx.True, nil
}

// setIsSubsetOperator defines $setIsSubset. A second operand that is constant is looked at when it is compiled.
func setIsSubsetOperator() definition {
	def := opN("$setIsSubset", "set", 2, 2, func(args []bsonx.Value) (bsonx.Value, error) { return setIsSubset(args[0], args[1]) })
	parse := def.parse
	def.parse = func(p *parser, def *definition, arg bsonx.Value, vars *Vars) (Expr, error) {
		e, err := parse(p, def, arg, vars)
		if err != nil || allConst(e.children()) {
			return e, err
		}
		if c, ok := e.children()[1].(*Const); ok && c.Value.Type != bsonx.TypeArray {
			vars.Failures().Add(mongoerr.New(17311, "both operands of $setIsSubset must be arrays. Second argument is of type: %s", c.Value.Type))
		}
		return e, nil
	}
	return def
}

func setIsSubset(a, b bsonx.Value) (bsonx.Value, error) {
	if a.Type != bsonx.TypeArray {
		return bsonx.Missing, mongoerr.New(17046, "both operands of $setIsSubset must be arrays. First argument is of type: %s", a.Type)
	}
	if b.Type != bsonx.TypeArray {
		return bsonx.Missing, mongoerr.New(17042, "both operands of $setIsSubset must be arrays. Second argument is of type: %s", b.Type)
	}
	set := sorted(b)
	for it := a.Doc().Iter(); it.Next(); {
		if !contains(set, it.Value()) {
			return bsonx.False, nil
		}
	}
	return bsonx.True, nil
}

func allElementsTrue(v bsonx.Value) (bsonx.Value, error) {
	if v.Type != bsonx.TypeArray {
		return bsonx.Missing, mongoerr.New(17040, "$allElementsTrue's argument must be an array, but is %s", v.Type)
	}
	for it := v.Doc().Iter(); it.Next(); {
		if !it.Value().Truthy() {
			return bsonx.False, nil
		}
	}
	return bsonx.True, nil
}

func anyElementTrue(v bsonx.Value) (bsonx.Value, error) {
	if v.Type != bsonx.TypeArray {
		return bsonx.Missing, mongoerr.New(17041, "$anyElementTrue's argument must be an array, but is %s", v.Type)
	}
	for it := v.Doc().Iter(); it.Next(); {
		if it.Value().Truthy() {
			return bsonx.True, nil
		}
	}
	return bsonx.False, nil
}
