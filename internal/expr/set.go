package expr

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func setOperators(c *collation.Collator) []definition {
	s := sets{collation: c}
	return []definition{
		lazily(s.watched(opAssociative("$setUnion", "set", commutable, plainN(s.union)), sets.union), 1),
		lazily(s.watched(opAssociative("$setIntersection", "set", commutable, plainN(s.intersection)), sets.intersection), 1),
		s.watched(op2("$setDifference", "set", s.difference), func(s sets, args []bsonx.Value) (bsonx.Value, error) {
			return s.difference(args[0], args[1])
		}),
		{name: "$setEquals", family: "set", min: 2, max: -1, parse: s.parseEquals},
		lazily(s.isSubsetOperator(), 1, bsonx.Missing, bsonx.NewArray()),
		op1("$allElementsTrue", "set", allElementsTrue),
		op1("$anyElementTrue", "set", anyElementTrue),
	}
}

// sets computes with arrays as sets, whose elements are compared by a collation.
type sets struct {
	collation *collation.Collator
	running   *interrupt.Running // the operation; nil never ends
}

// watched makes an operator notice that its operation has ended, which is known where the operator is compiled.
func (s sets) watched(def definition, fn func(s sets, args []bsonx.Value) (bsonx.Value, error)) definition {
	parse := def.parse
	def.parse = func(p *parser, def *definition, arg bsonx.Value, vars *Vars) (Expr, error) {
		e, err := parse(p, def, arg, vars)
		serving := sets{s.collation, vars.Scripts().Running}
		switch call := e.(type) {
		case *callN:
			call.fn = plainN(func(args []bsonx.Value) (bsonx.Value, error) { return fn(serving, args) })
		case *call2:
			call.fn = plain2(func(a, b bsonx.Value) (bsonx.Value, error) { return fn(serving, []bsonx.Value{a, b}) })
		}
		return e, err
	}
	return def
}

func (s sets) equal(a, b bsonx.Value) bool { return s.collation.CompareValues(a, b) == 0 }

// sorted returns the distinct elements of an array in order.
func (s sets) sorted(array bsonx.Value) ([]bsonx.Value, error) {
	return s.distinct(array.Doc().Values())
}

// distinct sorts values in place.
func (s sets) distinct(values []bsonx.Value) ([]bsonx.Value, error) {
	var meter interrupt.Meter
	if err := interrupt.Sort(values, interrupt.Step, s.collation.CompareValues, &meter, s.running); err != nil {
		return nil, err
	}
	return slices.CompactFunc(values, s.equal), nil
}

// searchWork is the work of a binary search in a large array.
const searchWork = 8 * interrupt.Step

func (s sets) contains(set []bsonx.Value, v bsonx.Value) bool {
	_, found := slices.BinarySearchFunc(set, v, s.collation.CompareValues)
	return found
}

func arrayOf(values []bsonx.Value) bsonx.Value { return bsonx.ValueOf(values) }

func (s sets) union(args []bsonx.Value) (bsonx.Value, error) {
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
	all, err := s.distinct(all)
	if err != nil {
		return bsonx.Missing, err
	}
	return arrayOf(all), nil
}

func (s sets) intersection(args []bsonx.Value) (bsonx.Value, error) {
	var common []bsonx.Value
	for i, v := range args {
		if nullish(v) {
			return bsonx.Null, nil
		}
		if v.Type != bsonx.TypeArray {
			return bsonx.Missing, mongoerr.New(17047, "All operands of $setIntersection must be arrays. One argument is of type: %s", v.Type)
		}
		set, err := s.sorted(v)
		if err != nil {
			return bsonx.Missing, err
		}
		if i == 0 {
			common = set
			continue
		}
		if len(common) > len(set) { // which of two equal values is kept shows: that of the smaller set, as within MongoDB
			common, set = set, common
		}
		if common, err = s.both(common, set); err != nil {
			return bsonx.Missing, err
		}
	}
	return arrayOf(common), nil
}

// both returns the elements of a, which it changes, that b has too.
func (s sets) both(a, b []bsonx.Value) ([]bsonx.Value, error) {
	var meter interrupt.Meter
	out := a[:0]
	for _, v := range a {
		if err := meter.Did(searchWork, s.running); err != nil {
			return nil, err
		}
		if s.contains(b, v) {
			out = append(out, v)
		}
	}
	return out, nil
}

// difference keeps the order of the first operand.
func (s sets) difference(a, b bsonx.Value) (bsonx.Value, error) {
	if nullish(a) || nullish(b) {
		return bsonx.Null, nil
	}
	if a.Type != bsonx.TypeArray {
		return bsonx.Missing, mongoerr.New(17048, "both operands of $setDifference must be arrays. First argument is of type: %s", a.Type)
	}
	if b.Type != bsonx.TypeArray {
		return bsonx.Missing, mongoerr.New(17049, "both operands of $setDifference must be arrays. Second argument is of type: %s", b.Type)
	}
	others, err := s.sorted(b)
	if err != nil {
		return bsonx.Missing, err
	}
	var meter interrupt.Meter
	values := a.Doc().Values()
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	byValue := func(i, j int) int { return s.collation.CompareValues(values[i], values[j]) }
	if err := interrupt.Sort(order, interrupt.Step, byValue, &meter, s.running); err != nil {
		return bsonx.Missing, err
	}
	// Of equal values the first in the array remains, in its place.
	order = slices.CompactFunc(order, func(i, j int) bool { return byValue(i, j) == 0 })
	slices.Sort(order)
	out := []bsonx.Value{}
	for _, i := range order {
		if err := meter.Did(searchWork, s.running); err != nil {
			return bsonx.Missing, err
		}
		if !s.contains(others, values[i]) {
			out = append(out, values[i])
		}
	}
	return arrayOf(out), nil
}

func (s sets) parseEquals(p *parser, def *definition, arg bsonx.Value, vars *Vars) (Expr, error) {
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
	moved := 0
	if f := vars.Failures(); f != nil && !f.Copied { // else MongoDB does not optimise, or forgets the set that it made of the constant
		moved = constantFirst(args)
	}
	return &callN{
		op: def.name, args: args, running: vars.Scripts().Running, fn: plainN(sets{s.collation, vars.Scripts().Running}.equals(moved)), lazy: &laziness{from: 1, refutes: true},
	}, nil
}

// constantFirst moves the first operand that is constant, unless all are, before the others, and returns which it was.
func constantFirst(args []Expr) int {
	at := slices.IndexFunc(args, func(e Expr) bool { _, ok := e.(*Const); return ok })
	if at <= 0 {
		return 0
	}
	first := args[at]
	copy(args[1:], args[:at])
	args[0] = first
	return at
}

// equals compares the other operands with the first, of which it is told which one it was.
func (s sets) equals(moved int) func(args []bsonx.Value) (bsonx.Value, error) {
	return func(args []bsonx.Value) (bsonx.Value, error) { return s.allEqual(args, moved) }
}

func (s sets) allEqual(args []bsonx.Value, moved int) (bsonx.Value, error) {
	var first []bsonx.Value
	for i, v := range args {
		if v.Type != bsonx.TypeArray {
			return bsonx.Missing, mongoerr.New(17044, "All operands of $setEquals must be arrays. %d-th argument is of type: %s", placeBefore(i, moved)+1, v.Type)
		}
		set, err := s.sorted(v)
		if err != nil {
			return bsonx.Missing, err
		}
		if i == 0 {
			first = set
		}
		if !slices.EqualFunc(first, set, s.equal) {
			return bsonx.False, nil
		}
	}
	return bsonx.True, nil
}

// placeBefore returns the place that the i-th operand had before one was moved to the beginning.
func placeBefore(i, moved int) int {
	switch {
	case i == 0:
		return moved
	case i <= moved:
		return i - 1
	default:
		return i
	}
}

// isSubsetOperator defines $setIsSubset. A second operand that is constant is looked at when it is compiled.
func (s sets) isSubsetOperator() definition {
	subset := func(s sets, args []bsonx.Value) (bsonx.Value, error) { return s.isSubset(args[0], args[1]) }
	def := s.watched(opN("$setIsSubset", "set", 2, 2, func(args []bsonx.Value) (bsonx.Value, error) { return subset(s, args) }), subset)
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
	for it := a.Doc().Iter(); it.Next(); {
		if err := meter.Did(searchWork, s.running); err != nil {
			return bsonx.Missing, err
		}
		if !s.contains(set, it.Value()) {
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
