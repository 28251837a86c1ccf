package scenario

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrParameter is returned for an unknown parameter, or an invalid value.
var ErrParameter = errors.New("scenario: invalid parameter")

// Param is a parameter of a scenario.
type Param struct {
	Name string
	Doc  string
	// Default has the type of the parameter: int, float64, bool, string or time.Duration.
	Default any
	// Min and Max bound a number, or a duration in seconds. If Max is 0, there is no upper bound.
	Min, Max float64
	// OneOf lists the valid values of a string. If it is empty, any value is valid.
	OneOf []string
}

// Values maps the names of parameters to their values.
type Values map[string]any

// Int returns the value of a parameter whose default is an int.
func (v Values) Int(name string) int { return v[name].(int) }

// Float returns the value of a parameter whose default is a float64.
func (v Values) Float(name string) float64 { return v[name].(float64) }

// Bool returns the value of a parameter whose default is a bool.
func (v Values) Bool(name string) bool { return v[name].(bool) }

// String returns the value of a parameter whose default is a string.
func (v Values) String(name string) string { return v[name].(string) }

// Duration returns the value of a parameter whose default is a time.Duration.
func (v Values) Duration(name string) time.Duration { return v[name].(time.Duration) }

// Values parses the given parameters, and adds the defaults of the others. A given value is a
// string (from a command line) or has any type of YAML (from a file).
func (d *Definition) Values(given map[string]any) (Values, error) {
	out := Values{}
	for _, p := range d.Params {
		out[p.Name] = p.Default
	}
	for name, raw := range given {
		i := slices.IndexFunc(d.Params, func(p Param) bool { return p.Name == name })
		if i < 0 {
			return nil, d.unknown(name)
		}
		value, err := d.Params[i].parse(raw)
		if err != nil {
			return nil, fmt.Errorf("%w of %s: %w", ErrParameter, d.Name, err)
		}
		out[name] = value
	}
	return out, nil
}

func (d *Definition) unknown(name string) error {
	names := make([]string, len(d.Params))
	for i, p := range d.Params {
		names[i] = p.Name
	}
	if len(names) == 0 {
		return fmt.Errorf("%w: %s has none, and so no %q", ErrParameter, d.Name, name)
	}
	return fmt.Errorf("%w: %s has no %q; did you mean %s? It has %s", ErrParameter, d.Name, name,
		strings.Join(nearest(name, names), " or "), strings.Join(names, ", "))
}

// parse returns a given value, converted to the type of the default. It checks the range.
func (p Param) parse(raw any) (any, error) {
	text := strings.TrimSpace(fmt.Sprint(raw))
	value, n, err := p.convert(text)
	if err != nil || math.IsNaN(n) || n < p.Min || p.Max > 0 && n > p.Max {
		return nil, fmt.Errorf("%s is %q; it must be %s", p.Name, text, p.Range())
	}
	if s, ok := value.(string); ok && len(p.OneOf) > 0 && !slices.Contains(p.OneOf, s) {
		return nil, fmt.Errorf("%s is %q; it must be %s", p.Name, text, p.Range())
	}
	return value, nil
}

// convert converts text to the type of the default. For a type with a range, n is the number to
// compare with Min and Max.
func (p Param) convert(text string) (value any, n float64, err error) {
	switch p.Default.(type) {
	case int:
		i, err := strconv.Atoi(text)
		return i, float64(i), err
	case float64:
		f, err := strconv.ParseFloat(text, 64)
		return f, f, err
	case bool:
		b, err := strconv.ParseBool(text)
		return b, p.Min, err
	case time.Duration:
		d, err := time.ParseDuration(text)
		return d, d.Seconds(), err
	case string:
		return text, p.Min, nil
	default:
		return nil, 0, fmt.Errorf("parameter %s has a default of type %T", p.Name, p.Default)
	}
}

// Range describes the valid values of the parameter for people.
func (p Param) Range() string {
	kind, unit := "", ""
	switch p.Default.(type) {
	case int:
		kind = "a whole number"
	case float64:
		kind = "a number"
	case bool:
		return "true or false"
	case time.Duration:
		kind, unit = "a duration such as 500ms", " s"
	case string:
		if len(p.OneOf) > 0 {
			return "one of " + strings.Join(p.OneOf, ", ")
		}
		return "any text"
	}
	low, high := strconv.FormatFloat(p.Min, 'f', -1, 64)+unit, strconv.FormatFloat(p.Max, 'f', -1, 64)+unit
	if p.Max > 0 {
		return kind + " from " + low + " to " + high
	}
	return kind + ", at least " + low
}
