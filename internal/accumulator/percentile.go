package accumulator

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func percentileDefinition() Definition {
	form := &percentileForm{notObject: 7429703, notObjectInExpression: 7436200}
	return Definition{
		Name: "$percentile", Parse: form.parse, Arguments: []string{"input", "=p", "=method"},
		Depends: expr.OnOperands, StableAPI: feature.Yes, Window: AnyWindow, InputOrder: feature.No,
		Expression: form.expression("input", "=p", "=method"),
	}
}

func medianDefinition() Definition {
	form := &percentileForm{median: true, notObject: 7436100, notObjectInExpression: 7436201}
	return Definition{
		Name: "$median", Parse: form.parse, Arguments: []string{"input", "=method"},
		Depends: expr.OnOperands, StableAPI: feature.Yes, Window: AnyWindow, InputOrder: feature.No,
		Expression: form.expression("input", "=method"),
	}
}

// $percentile and $median as accumulators. The expressions are in percentileexpr.go.

// percentileForm holds the differences between $percentile and $median.
type percentileForm struct {
	// median says that there is no argument p, and that the result is one number.
	median bool
	// The error codes for an argument that is not a document.
	notObject, notObjectInExpression mongoerr.Code
}

// percentiles contains the compiled arguments of $percentile or $median.
type percentiles struct {
	input  expr.Expr
	p      []float64
	median bool
}

// arguments compiles the arguments {input, p, method}; operand compiles the expressions in them.
// notObject is the error code if arg is not a document.
func (f *percentileForm) arguments(name string, arg bsonx.Value, notObject mongoerr.Code,
	operand func(bsonx.Value) (expr.Expr, error),
) (*percentiles, error) {
	out := &percentiles{median: f.median, p: []float64{0.5}}
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(notObject, "specification must be an object; found %s", expr.ShowElement(name, arg))
	}
	var input, p, method bsonx.Value
	for it := arg.Doc().Iter(); it.Next(); {
		switch key, v := string(it.Key()), it.Value(); {
		case key == "input":
			input = v
		case key == "method" && !v.IsNull() && v.Type != bsonx.TypeString:
			return nil, mongoerr.New(mongoerr.TypeMismatch, "BSON field '%s.method' is the wrong type '%s', expected type 'string'", name, v.Type)
		case key == "method":
			method = v
		case key == "p" && !out.median:
			p = v
		default:
			return nil, mongoerr.New(mongoerr.IDLUnknownField, "BSON field '%s.%s' is an unknown field.", name, key)
		}
	}
	for _, f := range []bsonx.Elem{
		{Key: []byte("input"), Value: input},
		{Key: []byte("p"), Value: p},
		{Key: []byte("method"), Value: method},
	} {
		if (f.Value.IsMissing() || string(f.Key) == "method" && f.Value.IsNull()) &&
			(string(f.Key) != "p" || !out.median) {
			return nil, mongoerr.New(mongoerr.IDLFailedToParse,
				"BSON field '%s.%s' is missing but a required field", name, f.Key)
		}
	}
	var err error
	if out.input, err = operand(input); err != nil {
		return nil, err
	}
	if !out.median {
		if out.p, err = parseP(p, operand); err != nil {
			return nil, err
		}
	}
	if method.Str() != "approximate" {
		return nil, mongoerr.New(mongoerr.BadValue, "Currently only 'approximate' can be used as a percentile 'method'.")
	}
	return out, nil
}

// parseP returns the values of p, which must be a constant array of numbers.
func parseP(v bsonx.Value, operand func(bsonx.Value) (expr.Expr, error)) ([]float64, error) {
	e, err := operand(v)
	if err != nil {
		return nil, err
	}
	array, ok := expr.ConstValue(e)
	if !ok {
		return nil, mongoerr.New(7750300, "The $percentile 'p' field must be an array of constant values, but found value: %s.", bsonx.FormatShell(v))
	}
	if array.Type != bsonx.TypeArray || array.Doc().IsEmpty() {
		return nil, mongoerr.New(7750301, "The $percentile 'p' field must be an array of numbers from [0.0, 1.0], but found: %s", expr.Show(array))
	}
	var out []float64
	for it := array.Doc().Iter(); it.Next(); {
		f, ok := it.Value().AsFloat64()
		if !ok {
			return nil, mongoerr.New(7750302, "The $percentile 'p' field must be an array of numbers from [0.0, 1.0], but found: %s", expr.Show(it.Value()))
		}
		if !(f >= 0 && f <= 1) {
			return nil, mongoerr.New(7750303, "The $percentile 'p' field must be an array of numbers from [0.0, 1.0], but found: %s", expr.Show(it.Value()))
		}
		out = append(out, f)
	}
	return out, nil
}

// result returns the percentiles in the result form of the operator. The function of computes one
// percentile; it is nil if there were no numbers.
func (p *percentiles) result(of func(p float64) float64) bsonx.Value {
	values := make([]bsonx.Value, len(p.p))
	for i, rank := range p.p {
		values[i] = bsonx.Null
		if of != nil {
			values[i] = bsonx.Double(of(rank))
		}
	}
	if p.median {
		return values[0]
	}
	return bsonx.ValueOf(values)
}

// parse compiles the accumulator. It is the Parse of its Definition.
func (f *percentileForm) parse(name string, arg bsonx.Value, vars *expr.Vars) (*Accumulation, error) {
	p, err := f.arguments(name, arg, f.notObject,
		func(v bsonx.Value) (expr.Expr, error) { return expr.Parse(v, vars) })
	if err != nil {
		return nil, err
	}
	return &Accumulation{
		Name: name, Arg: p.input,
		plain: func() Accumulator { return &percentileAccumulator{of: p} },
	}, nil
}

// The digest stores up to digestExact numbers exactly. With more numbers it becomes a merging
// t-digest: neighbouring numbers are merged into about digestCentroids centroids, which are smaller
// near the ends.
const (
	digestExact     = 1 << 14
	digestCentroids = 2000
)

// centroid represents weight numbers with the average mean.
type centroid struct{ mean, weight float64 }

// percentileAccumulator is $percentile or $median. It ignores NaN and values that are not numbers.
type percentileAccumulator struct {
	of *percentiles
	// centroids contains the merged centroids, followed by unsorted numbers and centroids that were
	// added after the last merge.
	centroids []centroid
	joined    bool
}

func (a *percentileAccumulator) Add(v bsonx.Value) error {
	f, ok := v.AsFloat64()
	if !ok || math.IsNaN(f) {
		return nil
	}
	a.add(centroid{f, 1})
	return nil
}

func (a *percentileAccumulator) add(c centroid) {
	a.centroids = append(a.centroids, c)
	if len(a.centroids) > digestExact {
		a.join()
	}
}

func (a *percentileAccumulator) sort() {
	slices.SortFunc(a.centroids, func(x, y centroid) int { return cmp.Compare(x.mean, y.mean) })
}

func (a *percentileAccumulator) total() (n float64) {
	for _, c := range a.centroids {
		n += c.weight
	}
	return n
}

// join merges neighbouring centroids as long as a merged one covers at most one unit of the scale
// function asin(2q-1), which is steep near q = 0 and q = 1.
func (a *percentileAccumulator) join() {
	a.sort()
	a.joined = true
	total, before := a.total(), 0.0
	scale := func(q float64) float64 { return digestCentroids / math.Pi * math.Asin(2*min(max(q, 0), 1)-1) }
	out := a.centroids[:1]
	start := scale(0)
	for _, c := range a.centroids[1:] {
		last := &out[len(out)-1]
		sum := last.weight + c.weight
		mean := last.mean + (c.mean-last.mean)*c.weight/sum
		if scale((before+sum)/total)-start > 1 || math.IsNaN(mean) || math.IsInf(mean, 0) {
			before += last.weight
			start = scale(before / total)
			out = append(out, c)
			continue
		}
		*last = centroid{mean, sum}
	}
	a.centroids = out
}

// at returns the percentile p. It is the number of that rank or, after merging, an interpolation
// between the two nearest centroids.
func (a *percentileAccumulator) at(p float64) float64 {
	n := a.total()
	rank := math.Ceil(max(n*p-1, 0))
	if p >= 1 {
		rank = n - 1
	}
	if !a.joined {
		return a.centroids[int(rank)].mean
	}
	before := 0.0
	for i, c := range a.centroids {
		if rank >= before+c.weight && i+1 < len(a.centroids) {
			before += c.weight
			continue
		}
		middle := before + (c.weight-1)/2
		other := i + 1
		if rank < middle {
			other = i - 1
		}
		if c.weight == 1 || other < 0 || other >= len(a.centroids) || math.IsInf(a.centroids[other].mean, 0) {
			return c.mean
		}
		o := a.centroids[other]
		return c.mean + (o.mean-c.mean)*math.Abs(rank-middle)/((c.weight+o.weight)/2)
	}
	return math.NaN()
}

func (a *percentileAccumulator) Result() bsonx.Value {
	if len(a.centroids) == 0 {
		return a.of.result(nil)
	}
	a.sort()
	return a.of.result(a.at)
}

func (a *percentileAccumulator) Bytes() int { return 64 + 16*cap(a.centroids) }

func (a *percentileAccumulator) State() bsonx.Value {
	data := make([]byte, 0, 16*len(a.centroids))
	for _, c := range a.centroids {
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(c.mean))
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(c.weight))
	}
	return bsonx.NewArray(a.joined, bsonx.Binary(0, data))
}

func (a *percentileAccumulator) Merge(state bsonx.Value) error {
	values := state.Doc().Values()
	_, data := values[1].Binary()
	for ; len(data) > 0; data = data[16:] {
		mean, weight := binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint64(data[8:])
		a.add(centroid{math.Float64frombits(mean), math.Float64frombits(weight)})
	}
	a.joined = a.joined || values[0].Bool()
	return nil
}
