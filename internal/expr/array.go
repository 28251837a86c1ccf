package expr

import (
	"math"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func ArrayOperators() []Definition {
	return []Definition{
		opN("$arrayElemAt", "array", 2, 2, arrayElemAt),
		op1("$first", "array", func(v bsonx.Value) (bsonx.Value, error) { return elementOf("$first", v, 0) }),
		op1("$last", "array", func(v bsonx.Value) (bsonx.Value, error) { return elementOf("$last", v, -1) }),
		lazily(watchAssociative("$concatArrays", "array", assocFull, concatArrays), 1),
		total(op1("$isArray", "array", func(v bsonx.Value) (bsonx.Value, error) { return bsonx.Bool(v.Type == bsonx.TypeArray), nil })),
		make1("$size", "array", size),
		collate2("$in", "array", in),
		lazily(watchN("$slice", "array", 2, 3, slice), 2, bsonx.Missing, bsonx.Missing, bsonx.Int32(1)),
		watch1("$reverseArray", "array", reverseArray),
		lazily(watchN("$range", "array", 2, 3, rangeOf), 2, bsonx.Missing, bsonx.Missing, bsonx.Int32(1)),
		lazily(indexOfArrayOperator(), 1, bsonx.Missing, bsonx.Int32(0), bsonx.Int32(0), bsonx.Int32(0)),
	}
}

// asInt32 converts a number to an int32 if it is one without loss.
func asInt32(v bsonx.Value) (int, bool) {
	i, ok := v.AsExactInt64()
	return int(i), ok && i >= math.MinInt32 && i <= math.MaxInt32
}

func arrayElemAt(args []bsonx.Value) (bsonx.Value, error) {
	array, at := args[0], args[1]
	if Nullish(array) || Nullish(at) {
		return bsonx.Null, nil
	}
	if array.Type != bsonx.TypeArray {
		return bsonx.Missing, mongoerr.New(28689, "$arrayElemAt's first argument must be an array, but is %s", array.Type)
	}
	if !at.Type.IsNumber() {
		return bsonx.Missing, mongoerr.New(28690, "$arrayElemAt's second argument must be a numeric value, but is %s", at.Type)
	}
	i, ok := asInt32(at)
	if !ok {
		return bsonx.Missing, mongoerr.New(28691, "$arrayElemAt's second argument must be representable as a 32-bit integer: %s", ShowNumber(at))
	}
	return elementAt(array.Doc(), i), nil
}

// elementAt returns an element, from the end where i is negative, or a missing value.
func elementAt(array bsonx.Doc, i int) bsonx.Value {
	if i < 0 {
		i += array.Len()
	}
	if i < 0 {
		return bsonx.Missing
	}
	return array.Index(i)
}

func elementOf(name string, v bsonx.Value, i int) (bsonx.Value, error) {
	if Nullish(v) {
		return bsonx.Null, nil
	}
	if v.Type != bsonx.TypeArray {
		return bsonx.Missing, mongoerr.New(28689, "%s's argument must be an array, but is %s", name, v.Type)
	}
	return elementAt(v.Doc(), i), nil
}

func concatArrays(args []bsonx.Value, running *interrupt.Running) (bsonx.Value, error) {
	if err := checkBytes("$concatArrays", totalBytes(args)); err != nil {
		return bsonx.Missing, err
	}
	var meter interrupt.Meter
	b := bsonx.NewBuilder(nil)
	b.StartArray()
	for _, v := range args {
		if Nullish(v) {
			return bsonx.Null, nil
		}
		if v.Type != bsonx.TypeArray {
			return bsonx.Missing, mongoerr.New(28664, "$concatArrays only supports arrays, not %s", v.Type)
		}
		for it := v.Doc().Iter(); it.Next(); {
			if err := meter.Did(interrupt.Step+len(it.Value().Data), running); err != nil {
				return bsonx.Missing, err
			}
			b.Elem(it.Value())
		}
	}
	b.End()
	return bsonx.Array(b.Bytes()), nil
}

func size(out *bsonx.Arena, v bsonx.Value) (bsonx.Value, error) {
	if v.Type != bsonx.TypeArray {
		return bsonx.Missing, mongoerr.New(17124, "The argument to $size must be an array, but was of type: %s", v.Type)
	}
	return out.Int32(int32(v.Doc().Len())), nil
}

func in(c *collation.Collator) watching2 {
	return func(v, array bsonx.Value, running *interrupt.Running) (bsonx.Value, error) {
		if array.Type != bsonx.TypeArray {
			return bsonx.Missing, mongoerr.New(40081, "$in requires an array as a second argument, found: %s", array.Type)
		}
		var meter interrupt.Meter
		for it := array.Doc().Iter(); it.Next(); {
			if err := meter.Did(interrupt.Step+min(len(v.Data), len(it.Value().Data)), running); err != nil {
				return bsonx.Missing, err
			}
			equal := compare(c, v, it.Value()) == 0
			if err := c.Ended(v, it.Value()); err != nil {
				return bsonx.Missing, err
			}
			if equal {
				return bsonx.True, nil
			}
		}
		return bsonx.False, nil
	}
}

func slice(args []bsonx.Value, running *interrupt.Running) (bsonx.Value, error) {
	array, n := args[0], args[1]
	if Nullish(array) || Nullish(n) {
		return bsonx.Null, nil
	}
	if array.Type != bsonx.TypeArray {
		return bsonx.Missing, mongoerr.New(28724, "First argument to $slice must be an array, but is of type: %s", array.Type)
	}
	if !n.Type.IsNumber() {
		return bsonx.Missing, mongoerr.New(28725, "Second argument to $slice must be a numeric value, but is of type: %s", n.Type)
	}
	at, ok := asInt32(n)
	if !ok {
		return bsonx.Missing, mongoerr.New(28726, "Second argument to $slice can't be represented as a 32-bit integer: %s", ShowNumber(n))
	}
	length := array.Doc().Len()
	if len(args) == 2 {
		if at < 0 {
			return SubArray(array.Doc(), max(0, length+at), length, running)
		}
		return SubArray(array.Doc(), 0, min(at, length), running)
	}
	if Nullish(args[2]) {
		return bsonx.Null, nil
	}
	count, err := sliceCount(args[2])
	if err != nil {
		return bsonx.Missing, err
	}
	if at < 0 {
		at = max(0, length+at)
	}
	at = min(at, length)
	return SubArray(array.Doc(), at, min(at+count, length), running)
}

func sliceCount(v bsonx.Value) (int, error) {
	if !v.Type.IsNumber() {
		return 0, mongoerr.New(28727, "Third argument to $slice must be numeric, but is of type: %s", v.Type)
	}
	count, ok := asInt32(v)
	if !ok {
		return 0, mongoerr.New(28728, "Third argument to $slice can't be represented as a 32-bit integer: %s", Show(v))
	}
	if count <= 0 {
		return 0, mongoerr.New(28729, "Third argument to $slice must be positive: %s", Show(v))
	}
	return count, nil
}

func SubArray(array bsonx.Doc, from, to int, running *interrupt.Running) (bsonx.Value, error) {
	var meter interrupt.Meter
	b := bsonx.NewBuilder(nil)
	b.StartArray()
	i := 0
	for it := array.Iter(); i < to && it.Next(); i++ {
		if err := meter.Did(interrupt.Step+len(it.Value().Data), running); err != nil {
			return bsonx.Missing, err
		}
		if i >= from {
			b.Elem(it.Value())
		}
	}
	b.End()
	return bsonx.Array(b.Bytes()), nil
}

func reverseArray(v bsonx.Value, running *interrupt.Running) (bsonx.Value, error) {
	if Nullish(v) {
		return bsonx.Null, nil
	}
	if v.Type != bsonx.TypeArray {
		return bsonx.Missing, mongoerr.New(34435, "The argument to $reverseArray must be an array, but was of type: %s", v.Type)
	}
	values, err := Elements(v.Doc(), running)
	if err != nil {
		return bsonx.Missing, err
	}
	slices.Reverse(values)
	return ListOf(values, running)
}

func rangeOf(args []bsonx.Value, running *interrupt.Running) (bsonx.Value, error) {
	start, err := rangeBound(args[0], "starting", 34443)
	if err != nil {
		return bsonx.Missing, err
	}
	end, err := rangeBound(args[1], "ending", 34445)
	if err != nil {
		return bsonx.Missing, err
	}
	step := 1
	if len(args) == 3 {
		if step, err = rangeBound(args[2], "step", 34447); err != nil {
			return bsonx.Missing, err
		}
		if step == 0 {
			return bsonx.Missing, mongoerr.New(34449, "$range requires a non-zero step value")
		}
	}
	if err := checkBytes("$range", rangeBytes(start, end, step)); err != nil {
		return bsonx.Missing, err
	}
	size := int32sBytes(rangeLen(start, end, step))
	if err := memory.Of(running.Context()).Value(int64(size)); err != nil {
		return bsonx.Missing, err
	}
	var meter interrupt.Meter
	b := bsonx.NewBuilder(make([]byte, 0, size))
	b.StartArray()
	for i := start; step > 0 && i < end || step < 0 && i > end; i += step {
		if err := meter.Did(interrupt.Step, running); err != nil {
			return bsonx.Missing, err
		}
		b.Elem(bsonx.Int32(int32(i)))
	}
	b.End()
	return bsonx.Array(b.Bytes()), nil
}

// rangeBytes is what MongoDB counts for the array of a $range.
func rangeBytes(start, end, step int) int {
	const header, element = 40, 16
	return header + rangeLen(start, end, step)*element
}

// rangeLen is how many elements the array of a $range has.
func rangeLen(start, end, step int) int {
	if (end-start > 0) != (step > 0) || start == end {
		return 0
	}
	distance, length := max(end-start, start-end), max(step, -step)
	return (distance + length - 1) / length
}

// int32sBytes is the size of an array of n 32-bit integers.
func int32sBytes(n int) int {
	const header, element = 5, 7 // of an element with a key of one digit
	size := header + n*element
	for shorter := 10; shorter < n; shorter *= 10 {
		size += n - shorter // the keys from this number on have one more digit
	}
	return size
}

func rangeBound(v bsonx.Value, what string, code mongoerr.Code) (int, error) {
	if !v.Type.IsNumber() {
		shown := " " + v.Type.String()
		if what == "step" {
			shown = v.Type.String()
		}
		return 0, mongoerr.New(code, "$range requires a numeric %s value, found value of type:%s", what, shown)
	}
	i, ok := asInt32(v)
	if !ok {
		article := "a"
		if what == "ending" {
			article = "an"
		}
		return 0, mongoerr.New(code+1, "$range requires %s %s value that can be represented as a 32-bit integer, found value: %s", article, what, Show(v))
	}
	return i, nil
}

// indexOfArrayOperator defines $indexOfArray. An array that is constant is looked at when it is compiled. What is sought is evaluated
// after the bounds, as within MongoDB: where both fail it is their error.
func indexOfArrayOperator() Definition {
	def := collateN("$indexOfArray", "array", 2, 4, indexOfArray)
	parse := def.Parse
	def.Parse = func(p *Parser, def *Definition, arg bsonx.Value, vars *Vars) (Expr, error) {
		e, err := parse(p, def, arg, vars)
		if err != nil {
			return e, err
		}
		if call, isCall := e.(*callN); isCall {
			sought := call.args[1]
			call.args = append(slices.Delete(call.args, 1, 2), sought)
		}
		if allConst(e.Children()) {
			return e, nil
		}
		c, ok := e.Children()[0].(*Const)
		switch {
		case ok && Nullish(c.Value):
			return &Const{bsonx.Null}, nil
		case ok && c.Value.Type != bsonx.TypeArray:
			vars.Failures().Add(mongoerr.New(50809, "First operand of $indexOfArray must be an array. First argument is of type: %s", c.Value.Type))
		}
		return e, nil
	}
	return def
}

// indexOfArray searches an array, the first operand, between bounds that may follow it for the last operand.
func indexOfArray(c *collation.Collator) WatchingN {
	return func(args []bsonx.Value, running *interrupt.Running) (bsonx.Value, error) {
		if Nullish(args[0]) {
			return bsonx.Null, nil
		}
		if args[0].Type != bsonx.TypeArray {
			return bsonx.Missing, mongoerr.New(40090, "$indexOfArray requires an array as a first argument, found: %s", args[0].Type)
		}
		from, to, err := searchBounds("$indexOfArray", args[1:len(args)-1], math.MaxInt32)
		if err != nil {
			return bsonx.Missing, err
		}
		sought := args[len(args)-1]
		var meter interrupt.Meter
		i := 0
		for it := args[0].Doc().Iter(); it.Next() && i < to; i++ {
			if err := meter.Did(interrupt.Step+min(len(sought.Data), len(it.Value().Data)), running); err != nil {
				return bsonx.Missing, err
			}
			equal := i >= from && compare(c, it.Value(), sought) == 0
			if err := c.Ended(it.Value(), sought); err != nil {
				return bsonx.Missing, err
			}
			if equal {
				return bsonx.Int32(int32(i)), nil
			}
		}
		return bsonx.Int32(-1), nil
	}
}

// searchBounds reads the optional start and end of the $indexOf operators.
func searchBounds(name string, args []bsonx.Value, length int) (from, to int, err error) {
	to = length
	for i, v := range args {
		n, ok := asInt32(v)
		if !v.Type.IsNumber() || !ok {
			return 0, 0, mongoerr.New(40096, "%srequires an integral %s index, found a value of type: %s, with value: %s",
				name, []string{"starting", "ending"}[i], v.Type, Show(v))
		}
		if n < 0 {
			return 0, 0, mongoerr.New(40097, "%s requires a nonnegative %s index, found: %d", name, []string{"starting", "ending"}[i], n)
		}
		if i == 0 {
			from = n
		} else {
			to = min(to, n)
		}
	}
	return from, to, nil
}
