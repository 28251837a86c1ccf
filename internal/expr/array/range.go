package array

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func rangeDefinition() expr.Definition {
	return expr.Definition{
		Name: "$range", Family: family, Parse: expr.WatchN(rangeOf),
		Min: 2, Max: 3,
		Lazy:  &expr.Laziness{From: 2, Rest: []bsonx.Value{bsonx.Missing, bsonx.Missing, bsonx.Int32(1)}},
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
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
	if err := expr.CheckBytes("$range", rangeBytes(start, end, step)); err != nil {
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

// rangeBytes returns the memory that MongoDB counts for the array of a $range, in bytes.
func rangeBytes(start, end, step int) int {
	const header, element = 40, 16
	return header + rangeLen(start, end, step)*element
}

// rangeLen returns the number of elements of a $range.
func rangeLen(start, end, step int) int {
	if (end-start > 0) != (step > 0) || start == end {
		return 0
	}
	distance, length := max(end-start, start-end), max(step, -step)
	return (distance + length - 1) / length
}

// int32sBytes returns the size in bytes of a BSON array of n 32-bit integers.
func int32sBytes(n int) int {
	const header, element = 5, 7 // an element whose key has one digit
	size := header + n*element
	for shorter := 10; shorter < n; shorter *= 10 {
		size += n - shorter // the keys from this number on have another digit
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
	i, ok := expr.AsInt32(v)
	if !ok {
		article := "a"
		if what == "ending" {
			article = "an"
		}
		return 0, mongoerr.New(code+1, "$range requires %s %s value that can be represented as a 32-bit integer, found value: %s", article, what, expr.Show(v))
	}
	return i, nil
}
