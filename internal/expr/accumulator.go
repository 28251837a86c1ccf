package expr

import (
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
)

// Accumulator gathers the values of a group. It is used by one goroutine.
type Accumulator interface {
	// Add takes one document's value, which may be missing; the accumulator copies what it keeps.
	Add(v bsonx.Value) error
	// Result returns what was gathered.
	Result() bsonx.Value
	// Bytes is about how much memory is kept.
	Bytes() int
}

// Accumulation is a compiled use of an accumulator: the expression whose values it gathers.
type Accumulation struct {
	Name string
	Arg  Expr
	New  func() Accumulator
}

// accumulator is the definition of one accumulator. A nil make means that it is known and not implemented.
type accumulator struct {
	name string
	make func() Accumulator
}

var accumulators = sync.OnceValue(func() map[string]accumulator {
	table := map[string]accumulator{}
	for _, a := range []accumulator{
		{"$sum", func() Accumulator { return &sumAccumulator{} }},
		{"$count", func() Accumulator { return &sumAccumulator{} }},
		{"$avg", func() Accumulator { return &avgAccumulator{} }},
		{"$min", func() Accumulator { return &extreme{sign: -1} }},
		{"$max", func() Accumulator { return &extreme{sign: 1} }},
		{"$first", func() Accumulator { return &endAccumulator{first: true} }},
		{"$last", func() Accumulator { return &endAccumulator{} }},
		{"$push", func() Accumulator { return &pushAccumulator{} }},
		{"$addToSet", func() Accumulator { return &setAccumulator{} }},
		{"$stdDevPop", func() Accumulator { return &deviation{} }},
		{"$stdDevSamp", func() Accumulator { return &deviation{sample: true} }},
		{"$mergeObjects", func() Accumulator { return &mergeAccumulator{} }},
		{"$accumulator", nil},
		{"$bottom", nil},
		{"$bottomN", nil},
		{"$firstN", nil},
		{"$lastN", nil},
		{"$maxN", nil},
		{"$median", nil},
		{"$minN", nil},
		{"$percentile", nil},
		{"$top", nil},
		{"$topN", nil},
	} {
		table[a.name] = a
	}
	return table
})

// Accumulators lists the accumulators of MongoDB 8.0 by name.
func Accumulators() []OperatorInfo {
	var out []OperatorInfo
	for name, a := range accumulators() {
		info := OperatorInfo{Name: name, Family: "accumulator"}
		if a.make == nil {
			info.Status = Known
		}
		out = append(out, info)
	}
	slices.SortFunc(out, func(a, b OperatorInfo) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// ParseAccumulator compiles {name: arg} as a field of $group.
func ParseAccumulator(name string, arg bsonx.Value, vars *Vars) (*Accumulation, error) {
	if arg.Type == bsonx.TypeArray && name != "$count" {
		return nil, mongoerr.New(40237, "The %s accumulator is a unary operator", name)
	}
	a, ok := accumulators()[name]
	if !ok {
		return nil, mongoerr.New(15952, "unknown group operator '%s'", name)
	}
	if a.make == nil {
		return nil, mongoerr.New(mongoerr.NotImplemented, "the accumulator %s is not implemented", name)
	}
	if name == "$count" {
		if arg.Type != bsonx.TypeDocument || !arg.Doc().IsEmpty() {
			return nil, mongoerr.New(mongoerr.TypeMismatch, "$count takes no arguments, i.e. $count:{}")
		}
		return &Accumulation{name, &Const{bsonx.Int32(1)}, a.make}, nil
	}
	e, err := Parse(arg, vars)
	if err != nil {
		return nil, err
	}
	return &Accumulation{name, e, a.make}, nil
}

// accumulatorOperators are the accumulators that are expressions too: over their operands, or over the elements of
// one operand that is an array.
func accumulatorOperators() []definition {
	var defs []definition
	for _, name := range []string{"$sum", "$avg", "$min", "$max", "$stdDevPop", "$stdDevSamp"} {
		defs = append(defs, opN(name, "accumulator", 0, -1, func(args []bsonx.Value) (bsonx.Value, error) {
			acc := accumulators()[name].make()
			list := args
			if len(args) == 1 && args[0].Type == bsonx.TypeArray {
				list = args[0].Doc().Values()
			}
			for _, v := range list {
				if err := acc.Add(v); err != nil {
					return bsonx.Missing, err
				}
			}
			return acc.Result(), nil
		}))
	}
	return defs
}

type sumAccumulator struct{ sum numeric.Sum }

func (a *sumAccumulator) Add(v bsonx.Value) error { a.sum.Add(v); return nil }
func (a *sumAccumulator) Result() bsonx.Value     { return a.sum.Result() }
func (a *sumAccumulator) Bytes() int              { return 64 }

type avgAccumulator struct {
	sum   numeric.Sum
	count int64
}

func (a *avgAccumulator) Add(v bsonx.Value) error {
	if v.Type.IsNumber() {
		a.sum.Add(v)
		a.count++
	}
	return nil
}

func (a *avgAccumulator) Result() bsonx.Value {
	if a.count == 0 {
		return bsonx.Null
	}
	return a.sum.Average(a.count)
}

func (a *avgAccumulator) Bytes() int { return 64 }

// extreme is $min and $max, which ignore null.
type extreme struct {
	sign int
	best bsonx.Value
}

func (a *extreme) Add(v bsonx.Value) error {
	if nullish(v) {
		return nil
	}
	if a.best.IsMissing() || bsonx.CompareValues(v, a.best)*a.sign > 0 {
		a.best = v.Clone()
	}
	return nil
}

func (a *extreme) Result() bsonx.Value {
	if a.best.IsMissing() {
		return bsonx.Null
	}
	return a.best
}

func (a *extreme) Bytes() int { return 32 + len(a.best.Data) }

// endAccumulator is $first and $last.
type endAccumulator struct {
	first bool
	seen  bool
	value bsonx.Value
}

func (a *endAccumulator) Add(v bsonx.Value) error {
	if a.first && a.seen {
		return nil
	}
	a.seen, a.value = true, v.Clone()
	return nil
}

func (a *endAccumulator) Result() bsonx.Value {
	if a.value.IsMissing() {
		return bsonx.Null
	}
	return a.value
}

func (a *endAccumulator) Bytes() int { return 32 + len(a.value.Data) }

type pushAccumulator struct {
	values []bsonx.Value
	bytes  int
}

func (a *pushAccumulator) Add(v bsonx.Value) error {
	if v.IsMissing() {
		return nil
	}
	a.values = append(a.values, v.Clone())
	if a.bytes += 32 + len(v.Data); a.bytes > maxExpressionBytes {
		return mongoerr.New(mongoerr.ExceededMemoryLimit, "$push used too much memory and spilling to disk cannot reduce memory consumption any further. Memory limit: %d bytes", maxExpressionBytes)
	}
	return nil
}

func (a *pushAccumulator) Result() bsonx.Value { return arrayOf(a.values) }
func (a *pushAccumulator) Bytes() int          { return a.bytes }

// setAccumulator keeps its values in the order in which they came, and finds them again through a sorted list.
type setAccumulator struct {
	pushAccumulator
	sorted []bsonx.Value
}

func (a *setAccumulator) Add(v bsonx.Value) error {
	if v.IsMissing() {
		return nil
	}
	at, found := slices.BinarySearchFunc(a.sorted, v, bsonx.CompareValues)
	if found {
		return nil
	}
	if err := a.pushAccumulator.Add(v); err != nil {
		return err
	}
	a.sorted = slices.Insert(a.sorted, at, a.values[len(a.values)-1])
	return nil
}

// deviation is $stdDevPop and $stdDevSamp by Welford's method.
type deviation struct {
	sample   bool
	count    float64
	mean, m2 float64
}

func (a *deviation) Add(v bsonx.Value) error {
	f, ok := v.AsFloat64()
	if !ok {
		return nil
	}
	a.count++
	delta := f - a.mean
	a.mean += delta / a.count
	a.m2 += delta * (f - a.mean)
	return nil
}

func (a *deviation) Result() bsonx.Value {
	n := a.count
	if a.sample {
		n--
	}
	if n <= 0 {
		return bsonx.Null
	}
	return bsonx.Double(math.Sqrt(a.m2 / n))
}

func (a *deviation) Bytes() int { return 48 }

type mergeAccumulator struct {
	merged objectBuilder
	bytes  int
}

func (a *mergeAccumulator) Add(v bsonx.Value) error {
	if nullish(v) {
		return nil
	}
	if v.Type != bsonx.TypeDocument {
		return mongoerr.New(40400, "$mergeObjects requires object inputs, but input %s is of type %s", Show(v), v.Type)
	}
	v = v.Clone()
	a.bytes += len(v.Data)
	for it := v.Doc().Iter(); it.Next(); {
		a.merged.set(it.Key(), it.Value())
	}
	return nil
}

func (a *mergeAccumulator) Result() bsonx.Value { return a.merged.document() }
func (a *mergeAccumulator) Bytes() int          { return 64 + a.bytes }
