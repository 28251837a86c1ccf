package param

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// Param is a server parameter.
type Param struct {
	Name string
	// Get returns the current value.
	Get func() bsonx.Value
	// Set changes the value at run time. It is nil if the parameter cannot be changed at run time.
	Set func(v bsonx.Value) error
	// TestOnly parameters exist only if test commands are enabled.
	TestOnly bool
}

// Params is the registry of server parameters. It is safe for concurrent use.
type Params struct {
	mu sync.RWMutex
	m  map[string]Param
}

// NewParams returns an empty registry.
func NewParams() *Params { return &Params{m: make(map[string]Param)} }

// Add registers parameters. A parameter replaces an earlier one of the same name.
func (p *Params) Add(params ...Param) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, param := range params {
		p.m[param.Name] = param
	}
}

// Lookup returns the parameter with a name. ok is false if it does not exist.
func (p *Params) Lookup(name string) (Param, bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	param, ok := p.m[name]
	return param, ok
}

// Names returns the names of all parameters, sorted.
func (p *Params) Names() []string {
	p.mu.RLock()
	defer p.mu.RUnlock()
	out := make([]string, 0, len(p.m))
	for name := range p.m {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Constant returns a parameter whose value cannot be changed.
func Constant(name string, v bsonx.Value) Param {
	return Param{Name: name, Get: func() bsonx.Value { return v }}
}

// heldParam returns a parameter that holds a value. parse checks and converts a new value, show
// converts the held value back to BSON, and changed is called with each new value.
func heldParam[T any](name string, value T, parse func(bsonx.Value) (T, error),
	show func(T) bsonx.Value, changed func(T),
) Param {
	var current atomic.Pointer[T]
	current.Store(&value)
	return Param{
		Name: name,
		Get:  func() bsonx.Value { return show(*current.Load()) },
		Set: func(v bsonx.Value) error {
			next, err := parse(v)
			if err != nil {
				return err
			}
			current.Store(&next)
			changed(next)
			return nil
		},
	}
}

func notCoerced(name, kind string) error {
	return mongoerr.New(mongoerr.BadValue, "Failed validating %s: Unable to coerce value to %s", name, kind)
}

// Coerced converts the value of a parameter to an integer. Booleans count as 0 and 1.
func Coerced(name string, v bsonx.Value) (int64, error) {
	x, number := v.AsFloat64()
	switch {
	case v.Type == bsonx.TypeBool:
	case !number:
		return 0, notCoerced(name, "integral type")
	case math.IsNaN(x) || math.IsInf(x, 0):
		return 0, mongoerr.New(mongoerr.BadValue, "Failed validating %s: Unable to coerce NaN/Inf to integral type", name)
	case v.Type != bsonx.TypeInt64 && math.Abs(x) >= 1<<63:
		return 0, mongoerr.New(mongoerr.BadValue, "Failed validating %s: Out of bounds coercing to integral value", name)
	}
	return bsonx.SaturatingInt64(v), nil
}

// Int returns a parameter that holds an integer in [min, max]. It calls changed when the parameter
// is set.
func Int(name string, value, min, max int64, changed func(int64)) Param {
	parse := func(v bsonx.Value) (int64, error) {
		n, err := Coerced(name, v)
		switch {
		case err != nil:
			return 0, err
		case n < min:
			return 0, mongoerr.New(mongoerr.BadValue, "Invalid value for parameter %s: %d is not greater than or equal to %d", name, n, min)
		case n > max:
			return 0, mongoerr.New(mongoerr.BadValue, "Invalid value for parameter %s: %d is not less than or equal to %d", name, n, max)
		}
		return n, nil
	}
	return heldParam(name, value, parse, bsonx.Int64, changed)
}

// Double returns a parameter that holds a number of at least min. It calls changed when the
// parameter is set.
func Double(name string, value, min float64, changed func(float64)) Param {
	parse := func(v bsonx.Value) (float64, error) {
		x, _ := v.AsFloat64()
		switch {
		case !v.Type.IsNumber():
			return 0, notCoerced(name, "double")
		case !(x >= min):
			return 0, mongoerr.New(mongoerr.BadValue, "Invalid value for parameter %s: %g is not greater than or equal to %g", name, x, min)
		}
		return x, nil
	}
	return heldParam(name, value, parse, bsonx.Double, changed)
}

// Bool returns a parameter that is true or false. It calls changed when the parameter is set. As in
// MongoDB, it accepts values of every type.
func Bool(name string, value bool, changed func(bool)) Param {
	parse := func(v bsonx.Value) (bool, error) { return v.Truthy(), nil }
	return heldParam(name, value, parse, bsonx.Bool, changed)
}

// Enum returns a parameter that holds one of the values. The first of them is the default.
func Enum(name string, values ...string) Param {
	parse := func(v bsonx.Value) (string, error) {
		var text string
		switch {
		case v.Type == bsonx.TypeString:
			text = v.Str()
		case v.Type.IsNumber():
			text = bsonx.NumberText(v)
		default:
			return "", mongoerr.New(mongoerr.BadValue, "Unsupported type %s (value: '%s: %s') for setParameter: %s",
				v.Type, name, bsonx.FormatShell(v), name)
		}
		if !slices.Contains(values, text) {
			return "", mongoerr.New(mongoerr.BadValue, "Enumeration value '%s' for field '%s' is not a valid value.", text, name)
		}
		return text, nil
	}
	return heldParam(name, values[0], parse, bsonx.String, func(string) {})
}

// Append appends the parameter to a reply of getParameter. details is its argument showDetails.
func (p *Param) Append(reply *bsonx.Builder, details bool) {
	if !details {
		reply.Value(p.Name, p.Get())
		return
	}
	reply.StartDocField(p.Name)
	reply.Value("value", p.Get())
	reply.Bool("settableAtRuntime", p.Set != nil)
	reply.Bool("settableAtStartup", false)
	reply.End()
}
