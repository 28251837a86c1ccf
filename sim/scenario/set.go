package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// ErrUnknown is the error for a name that no scenario has.
var ErrUnknown = errors.New("scenario: unknown scenario")

// Set holds the scenarios from which a user of the simulator chooses, ordered by name.
type Set []*Definition

// NewSet returns the set of definitions. It returns an error if two have the same name, or one is
// not complete.
func NewSet(definitions ...*Definition) (Set, error) {
	seen := map[string]bool{}
	for _, d := range definitions {
		if d.Name == "" || d.New == nil || d.Users <= 0 {
			return nil, fmt.Errorf("scenario %q has no name, no New or no users", d.Name)
		}
		for _, name := range append([]string{d.Name}, d.Aliases...) {
			if seen[name] {
				return nil, fmt.Errorf("two scenarios have the name %q", name)
			}
			seen[name] = true
		}
		if _, err := d.defaults(); err != nil {
			return nil, err
		}
	}
	s := Set(slices.Clone(definitions))
	slices.SortFunc(s, func(a, b *Definition) int { return strings.Compare(a.Name, b.Name) })
	return s, nil
}

// defaults returns the defaults of the parameters, or an error if one is not valid.
func (d *Definition) defaults() (Values, error) {
	given := map[string]any{}
	for _, p := range d.Params {
		given[p.Name] = p.Default
	}
	return d.Values(given)
}

// Find returns the scenario with a name or an alias.
func (s Set) Find(name string) (*Definition, error) {
	names := make([]string, 0, len(s))
	for _, d := range s {
		if d.Name == name || slices.Contains(d.Aliases, name) {
			return d, nil
		}
		names = append(names, d.Name)
	}
	return nil, fmt.Errorf("%w %q; did you mean %s?", ErrUnknown, name, strings.Join(nearest(name, names), " or "))
}

// Group returns the scenarios of a pattern, such as "cart".
func (s Set) Group(group string) (out Set) {
	for _, d := range s {
		if d.Group == group {
			out = append(out, d)
		}
	}
	return out
}

// nearest returns up to three names that are most similar to name.
func nearest(name string, names []string) []string {
	names = slices.Clone(names)
	distance := func(other string) int {
		n := 2 * levenshtein.ComputeDistance(name, other)
		if strings.Contains(other, name) || strings.Contains(name, other) {
			n /= 2
		}
		return n
	}
	slices.SortStableFunc(names, func(a, b string) int { return distance(a) - distance(b) })
	return names[:min(3, len(names))]
}
