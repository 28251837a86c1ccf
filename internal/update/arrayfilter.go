package update

import (
	"errors"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// arrayFilter is one element of the command's arrayFilters.
type arrayFilter struct {
	identifier string
	match      Matcher
	used       bool // a path uses the filter; set only while parsing
}

// parseArrayFilters compiles arrayFilters and checks their identifiers.
func parseArrayFilters(opts *Options) ([]*arrayFilter, error) {
	var out []*arrayFilter
	for _, doc := range opts.ArrayFilters {
		match, err := opts.parseFilter(doc)
		if err != nil {
			return nil, inArrayFilter(err)
		}
		id, err := filterIdentifier(doc)
		if err != nil {
			return nil, err
		}
		if findFilter(out, id) != nil {
			return nil, mongoerr.New(mongoerr.FailedToParse,
				"Found multiple array filters with the same top-level field name %s", id)
		}
		out = append(out, &arrayFilter{identifier: id, match: match})
	}
	return out, nil
}

// arrayFilterContext is the beginning of the messages of errors in an array filter.
const arrayFilterContext = "Error parsing array filter :: caused by :: "

// inArrayFilter adds arrayFilterContext to the message of a user error.
func inArrayFilter(err error) error {
	var user *mongoerr.Error
	if errors.As(err, &user) {
		return user.Prefix(arrayFilterContext)
	}
	return err
}

func findFilter(filters []*arrayFilter, id string) *arrayFilter {
	for _, f := range filters {
		if f.identifier == id {
			return f
		}
	}
	return nil
}

// checkUsed returns an error for the first filter that no path uses.
func checkUsed(filters []*arrayFilter, u bsonx.Value) error {
	for _, f := range filters {
		if !f.used {
			return mongoerr.New(mongoerr.FailedToParse,
				"The array filter for identifier '%s' was not used in the update %s", f.identifier, shell(u))
		}
	}
	return nil
}

// filterIdentifier returns the only top-level field name of an array filter.
func filterIdentifier(doc bsonx.Doc) (string, error) {
	var seen []string
	if err := topLevelName(doc, &seen); err != nil {
		return "", err
	}
	if len(seen) == 0 {
		return "", mongoerr.New(mongoerr.FailedToParse, "Cannot use an expression without a top-level field name in arrayFilters")
	}
	id := seen[0]
	if !isIdentifier(id) {
		return "", mongoerr.New(mongoerr.BadValue,
			arrayFilterContext+"The top-level field name must be an alphanumeric string beginning with a lowercase letter, found '%s'", id)
	}
	return id, nil
}

// isIdentifier reports whether a name begins with a lowercase letter and has only letters and
// digits.
func isIdentifier(id string) bool {
	for i := range len(id) {
		c := id[i]
		lower, digit, upper := c >= 'a' && c <= 'z', c >= '0' && c <= '9', c >= 'A' && c <= 'Z'
		if !lower && (i == 0 || !digit && !upper) {
			return false
		}
	}
	return id != ""
}

// topLevelName adds the first component of all paths in doc to seen. It descends into logical
// operators. The filter was parsed before, which limits their nesting.
func topLevelName(doc bsonx.Doc, seen *[]string) error {
	for it := doc.Iter(); it.Next(); {
		key, v := string(it.Key()), it.Value()
		if key == "$and" || key == "$or" || key == "$nor" {
			if v.Type != bsonx.TypeArray {
				continue
			}
			for _, branch := range v.Doc().Values() {
				if branch.Type != bsonx.TypeDocument {
					continue
				}
				if err := topLevelName(branch.Doc(), seen); err != nil {
					return err
				}
			}
			continue
		}
		if strings.HasPrefix(key, "$") || matchesNothing(v) {
			continue
		}
		name, _, _ := strings.Cut(key, ".")
		if len(*seen) > 0 && (*seen)[0] != name {
			return mongoerr.New(mongoerr.FailedToParse,
				arrayFilterContext+"Expected a single top-level field name, found '%s' and '%s'", (*seen)[0], name)
		}
		*seen = append((*seen)[:0], name)
	}
	return nil
}

// matchesNothing reports whether a predicate consists only of {$all: []}, also inside $not. MongoDB
// ignores the field of such a predicate when it looks for the identifier.
func matchesNothing(v bsonx.Value) bool {
	if v.Type != bsonx.TypeDocument || v.Doc().IsEmpty() {
		return false
	}
	for it := v.Doc().Iter(); it.Next(); {
		operand := it.Value()
		switch string(it.Key()) {
		case "$all":
			if operand.Type != bsonx.TypeArray || !operand.Doc().IsEmpty() {
				return false
			}
		case "$not":
			if !matchesNothing(operand) {
				return false
			}
		default:
			return false
		}
	}
	return true
}
