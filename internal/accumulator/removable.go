package accumulator

import (
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/numeric"
)

// removableSum is a sum from which numbers can be taken away again: what is not finite, and what decides on the type
// of the result, is counted.
type removableSum struct {
	sum                 numeric.Sum // while nothing was removed, of everything; later of finite numbers only
	long, double, dec   int64
	nan, posInf, negInf int64
	removed             bool
}

func (r *removableSum) add(v bsonx.Value) {
	switch v.Type {
	case bsonx.TypeInt32:
	case bsonx.TypeInt64:
		r.long++
	case bsonx.TypeDouble:
		r.double++
		if f := v.Double(); math.IsInf(f, 0) || math.IsNaN(f) {
			r.special(f, 1)
			if r.removed {
				return
			}
		}
	case bsonx.TypeDecimal128:
		r.dec++
		if v.Decimal().Kind != bsonx.DecimalFinite {
			f, _ := v.AsFloat64()
			r.special(f, 1)
			if r.removed {
				return
			}
		}
	default:
		return
	}
	r.sum.Add(v)
}

func (r *removableSum) special(f float64, n int64) {
	switch {
	case math.IsNaN(f):
		r.nan += n
	case f > 0:
		r.posInf += n
	default:
		r.negInf += n
	}
}

// remove takes away a number that was added.
func (r *removableSum) remove(v bsonx.Value) error {
	if !v.Type.IsNumber() {
		return nil
	}
	if !r.removed {
		if r.nan+r.posInf+r.negInf > 0 {
			r.sum = r.sum.Finite()
		}
		r.removed = true
	}
	switch v.Type {
	case bsonx.TypeInt64:
		r.long--
	case bsonx.TypeDouble:
		r.double--
	case bsonx.TypeDecimal128:
		r.dec--
	default:
	}
	if !numeric.IsFinite(v) {
		f, _ := v.AsFloat64()
		r.special(f, -1)
		return nil
	}
	negative, err := numeric.Subtract(bsonx.Int32(0), v)
	if err != nil {
		return err
	}
	r.sum.Add(negative)
	return nil
}

// notFinite returns the result where it is NaN or infinite.
func (r *removableSum) notFinite() (bsonx.Value, bool) {
	var f float64
	switch {
	case r.nan > 0 || r.posInf > 0 && r.negInf > 0:
		f = math.NaN()
	case r.posInf > 0:
		f = math.Inf(1)
	case r.negInf > 0:
		f = math.Inf(-1)
	default:
		return bsonx.Missing, false
	}
	if r.dec > 0 {
		return numeric.DecimalFromDouble(f), true
	}
	return bsonx.Double(f), true
}

func (r *removableSum) result() bsonx.Value {
	if !r.removed {
		return r.sum.Result()
	}
	if v, ok := r.notFinite(); ok {
		return v
	}
	widest := bsonx.TypeInt32
	switch {
	case r.dec > 0:
		return r.sum.Result()
	case r.double > 0:
		widest = bsonx.TypeDouble
	case r.long > 0:
		widest = bsonx.TypeInt64
	}
	return r.sum.As(widest)
}

func (r *removableSum) average(count int64) bsonx.Value {
	if !r.removed {
		return r.sum.Average(count)
	}
	if v, ok := r.notFinite(); ok {
		return v
	}
	avg := r.sum.Average(count)
	if f, _ := avg.AsFloat64(); r.dec == 0 {
		return bsonx.Double(f)
	}
	return avg
}

func (r *removableSum) state(count int64) bsonx.Value {
	return bsonx.NewArray(r.sum.State(), r.long, r.double, r.dec, r.nan, r.posInf, r.negInf, count)
}

func (r *removableSum) merge(state bsonx.Value) (count int64) {
	values := state.Doc().Values()
	r.sum.Merge(values[0])
	for i, n := range []*int64{&r.long, &r.double, &r.dec, &r.nan, &r.posInf, &r.negInf, &count} {
		added, _ := values[i+1].AsInt64()
		*n += added
	}
	return count
}
