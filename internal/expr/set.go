package expr

import (
	"cmp"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func SetOperators() []Definition {
	return []Definition{
		lazily(CollateAssociative("$setUnion", "set", Commutable, func(c *collation.Collator) WatchingN {
			return func(args []bsonx.Value, running *interrupt.Running) (bsonx.Value, error) {
				return sets{c, running}.union(args)
			}
		}), 1),
		lazily(CollateAssociative("$setIntersection", "set", Commutable, func(c *collation.Collator) WatchingN {
			return func(args []bsonx.Value, running *interrupt.Running) (bsonx.Value, error) {
				return sets{c, running}.intersection(args)
			}
		}), 1),
		collate2("$setDifference", "set", func(c *collation.Collator) watching2 {
			return func(a, b bsonx.Value, running *interrupt.Running) (bsonx.Value, error) {
				return sets{c, running}.difference(a, b)
			}
		}),
		{Name: "$setEquals", Family: "set", min: 2, max: -1, Parse: parseEquals},
		lazily(isSubsetOperator(), 1, bsonx.Missing, bsonx.NewArray()),
		watch1("$allElementsTrue", "set", allElementsTrue),
		watch1("$anyElementTrue", "set", anyElementTrue),
	}
}

// sets computes with arrays as sets, whose elements are compared by a collation.
type sets struct {
	collation *collation.Collator
	running   *interrupt.Running // the operation; nil never ends
}

// sorted returns the distinct elements of an array in order.
func (s sets) sorted(array bsonx.Value) ([]bsonx.Value, error) {
	values, err := Elements(array.Doc(), s.running)
	if err != nil {
		return nil, err
	}
	return s.distinct(values)
}

// distinct sorts values in place.
func (s sets) distinct(values []bsonx.Value) ([]bsonx.Value, error) {
	var meter interrupt.Meter
	if err := s.collation.Sort(values, &meter, s.running); err != nil {
		return nil, err
	}
	return s.collation.Compact(values, &meter, s.running)
}

// searchWork is the work of a binary search in a large array.
const searchWork = 8 * interrupt.Step

func contains(set []bsonx.Value, v bsonx.Value, by *collation.Comparer) bool {
	_, found := slices.BinarySearchFunc(set, v, by.Compare)
	return found
}

func (s sets) union(args []bsonx.Value) (bsonx.Value, error) {
	var all []bsonx.Value
	var err error
	for _, v := range args {
		if Nullish(v) {
			return bsonx.Null, nil
		}
		if v.Type != bsonx.TypeArray {
			return bsonx.Missing, mongoerr.New(17043, "All operands of $setUnion must be arrays. One argument is of type: %s", v.Type)
		}
		if all, err = appendElements(slices.Grow(all, v.Doc().Len()), v.Doc(), s.running); err != nil {
			return bsonx.Missing, err
		}
	}
	if err := checkBytes("$setUnion", totalBytes(args)); err != nil {
		return bsonx.Missing, err
	}
	if all, err = s.distinct(all); err != nil {
		return bsonx.Missing, err
	}
	return ListOf(all, s.running)
}

func (s sets) intersection(args []bsonx.Value) (bsonx.Value, error) {
	var common []bsonx.Value
	for i, v := range args {
		if Nullish(v) {
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
	return ListOf(common, s.running)
}

// both returns the elements of a, which it changes, that b has too.
func (s sets) both(a, b []bsonx.Value) ([]bsonx.Value, error) {
	var meter interrupt.Meter
	out, by := a[:0], s.collation.Comparer(s.running)
	for _, v := range a {
		if err := meter.Did(searchWork, s.running); err != nil {
			return nil, err
		}
		if contains(b, v, by) {
			out = append(out, v)
		}
	}
	return out, by.Ended()
}

// difference keeps the order of the first operand.
func (s sets) difference(a, b bsonx.Value) (bsonx.Value, error) {
	if Nullish(a) || Nullish(b) {
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
	values, err := Elements(a.Doc(), s.running)
	if err != nil {
		return bsonx.Missing, err
	}
	var meter interrupt.Meter
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	by := s.collation.Comparer(s.running)
	byValue := func(i, j int) int { return by.Compare(values[i], values[j]) }
	if err := interrupt.Sort(order, interrupt.Step, byValue, &meter, s.running); err != nil {
		return bsonx.Missing, err
	}
	// Of equal values the first in the array remains, in its place.
	same := func(i, j int) bool { return byValue(i, j) == 0 }
	if order, err = interrupt.Compact(order, interrupt.Step, same, &meter, s.running); err != nil {
		return bsonx.Missing, err
	}
	if err := interrupt.SortUnstable(order, interrupt.Step/4, cmp.Compare[int], &meter, s.running); err != nil {
		return bsonx.Missing, err
	}
	out := []bsonx.Value{}
	for _, i := range order {
		if err := meter.Did(searchWork, s.running); err != nil {
			return bsonx.Missing, err
		}
		if !contains(others, values[i], by) {
			out = append(out, values[i])
		}
	}
	if err := by.Ended(); err != nil {
		return bsonx.Missing, err
	}
	return ListOf(out, s.running)
}

func parseEquals(p *Parser, def *Definition, arg bsonx.Value, vars *Vars) (Expr, error) {
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
		op: def.Name, args: args, running: vars.Scripts().Running, fn: plainN(sets{vars.Collation(), vars.Scripts().Running}.equals(moved)), lazy: &laziness{from: 1, refutes: true},
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
		same, err := s.same(first, set)
		if err != nil {
			return bsonx.Missing, err
		}
		if !same {
			return bsonx.False, nil
		}
	}
	return bsonx.True, nil
}

// same reports whether two sets have the same elements.
func (s sets) same(a, b []bsonx.Value) (bool, error) {
	if len(a) != len(b) {
		return false, nil
	}
	var meter interrupt.Meter
	by := s.collation.Comparer(s.running)
	for i, v := range a {
		if err := meter.Did(interrupt.Step, s.running); err != nil {
			return false, err
		}
		if by.Compare(v, b[i]) != 0 {
			return false, by.Ended()
		}
	}
	return true, by.Ended()
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
func isSubsetOperator() Definition {
	def := collateN("$setIsSubset", "set", 2, 2, func(c *collation.Collator) WatchingN {
		return func(args []bsonx.Value, running *interrupt.Running) (bsonx.Value, error) {
			return sets{c, running}.isSubset(args[0], args[1])
		}
	})
	parse := def.Parse
	def.Parse = func(p *Parser, def *Definition, arg bsonx.Value, vars *Vars) (Expr, error) {
		e, err := parse(p, def, arg, vars)
		if err != nil || allConst(e.Children()) {
			return e, err
		}
		if c, ok := e.Children()[1].(*Const); ok && c.Value.Type != bsonx.TypeArray {
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

func allElementsTrue(v bsonx.Value, running *interrupt.Running) (bsonx.Value, error) {
	if v.Type != bsonx.TypeArray {
		return bsonx.Missing, mongoerr.New(17040, "$allElementsTrue's argument must be an array, but is %s", v.Type)
	}
	var meter interrupt.Meter
	for it := v.Doc().Iter(); it.Next(); {
		if err := meter.Did(interrupt.Step, running); err != nil {
			return bsonx.Missing, err
		}
		if !it.Value().Truthy() {
			return bsonx.False, nil
		}
	}
	return bsonx.True, nil
}

func anyElementTrue(v bsonx.Value, running *interrupt.Running) (bsonx.Value, error) {
	if v.Type != bsonx.TypeArray {
		return bsonx.Missing, mongoerr.New(17041, "$anyElementTrue's argument must be an array, but is %s", v.Type)
	}
	var meter interrupt.Meter
	for it := v.Doc().Iter(); it.Next(); {
		if err := meter.Did(interrupt.Step, running); err != nil {
			return bsonx.Missing, err
		}
		if it.Value().Truthy() {
			return bsonx.True, nil
		}
	}
	return bsonx.False, nil
}
