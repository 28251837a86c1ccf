package numeric

import (
	"github.com/cockroachdb/apd/v3"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// Total adds numbers one after another as $add does, in the widest type so far. Integers that
// overflow an int64 continue as doubles. A double that is added to a decimal counts with 15 digits.
// The zero Total is 0 (int32).
type Total struct {
	widest  bsonx.Type // TypeMissing stands for int32
	long    int64
	double  float64
	decimal apd.Decimal
}

// Add adds a number.
func (t *Total) Add(v bsonx.Value) {
	old := t.widest
	if old == bsonx.TypeMissing {
		old = bsonx.TypeInt32
	}
	t.widest = Widest(old, v.Type)
	if old != t.widest {
		t.widen(old)
	}
	switch t.widest {
	case bsonx.TypeDouble:
		t.double += float(v)
	case bsonx.TypeDecimal128:
		c := decimalContext()
		if _, err := c.Add(&t.decimal, &t.decimal, toDecimal(v)); err != nil {
			t.decimal.Form = apd.NaN
		}
	default:
		t.addLong(long(v))
	}
}

func (t *Total) addLong(i int64) {
	sum, ok := addInt64(t.long, i)
	if ok {
		t.long = sum
		return
	}
	t.widest, t.double = bsonx.TypeDouble, float64(t.long)+float64(i)
}

// widen converts the total so far to the new widest type.
func (t *Total) widen(old bsonx.Type) {
	switch {
	case t.widest == bsonx.TypeDouble:
		t.double = float64(t.long)
	case t.widest == bsonx.TypeDecimal128 && old == bsonx.TypeDouble:
		t.decimal.Set(doubleToDecimal(t.double, 15))
	case t.widest == bsonx.TypeDecimal128:
		t.decimal.SetInt64(t.long)
	}
}

// Result returns the sum.
func (t *Total) Result() bsonx.Value { return t.ResultIn(nil) }

// ResultIn is Result with the sum in an arena.
func (t *Total) ResultIn(out *bsonx.Arena) bsonx.Value {
	switch t.widest {
	case bsonx.TypeDouble:
		return out.Double(t.double)
	case bsonx.TypeDecimal128:
		return encode(&t.decimal)
	default:
		return integerIn(out, t.long, t.widest)
	}
}
