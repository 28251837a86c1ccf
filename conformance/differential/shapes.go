package main

import (
	"regexp"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"
)

var arrayPosition = regexp.MustCompile(`\.[0-9]+(\.|$)`)

// isRefusal reports whether a reply has an error because a document cannot be indexed.
func isRefusal(reply bson.D) bool {
	code := max(errorCode(reply), writeErrorCode(reply))
	return code == 171 || code == 16746
}

// isMulti reports whether a command has a statement that updates several documents.
func isMulti(cmd bson.D) bool {
	updates, _ := lookup(cmd, "updates").(bson.A)
	for _, u := range updates {
		if multi, _ := lookup(u.(bson.D), "multi").(bool); multi {
			return true
		}
	}
	return false
}

// isUpsert reports whether a command may insert a document that is made from its query.
func isUpsert(cmd bson.D) bool {
	updates, _ := lookup(cmd, "updates").(bson.A)
	for _, u := range updates {
		if lookup(u.(bson.D), "upsert") == true {
			return true
		}
	}
	return lookup(cmd, "upsert") == true
}

// sortFields sorts the fields of all documents in v by name.
func sortFields(v any) any {
	switch v := v.(type) {
	case bson.D:
		out := make(bson.D, len(v))
		for i, e := range v {
			out[i] = bson.E{e.Key, sortFields(e.Value)}
		}
		slices.SortStableFunc(out, func(a, b bson.E) int { return strings.Compare(a.Key, b.Key) })
		return out
	case bson.A:
		out := make(bson.A, len(v))
		for i, e := range v {
			out[i] = sortFields(e)
		}
		return out
	}
	return v
}

// byNames sorts the fields of a document by name. A leading _id keeps its place.
func byNames(v any) any {
	row, _ := v.(bson.D)
	out := slices.Clone(row)
	rest := out
	if len(out) > 0 && out[0].Key == "_id" {
		rest = out[1:]
	}
	slices.SortStableFunc(rest, func(a, b bson.E) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// sortArrays sorts the elements of all arrays in v by their text.
func sortArrays(v any) any {
	switch v := v.(type) {
	case bson.D:
		out := make(bson.D, len(v))
		for i, e := range v {
			out[i] = bson.E{e.Key, sortArrays(e.Value)}
		}
		return out
	case bson.A:
		out := make(bson.A, len(v))
		for i, e := range v {
			out[i] = sortArrays(e)
		}
		slices.SortStableFunc(out, func(a, b any) int {
			return strings.Compare(show(bson.D{{"", a}}), show(bson.D{{"", b}}))
		})
		return out
	}
	return v
}

func hasErrors(reply bson.D) bool { return errorCode(reply) != 0 || writeErrorCode(reply) != 0 }

func errorCode(reply bson.D) int32 {
	code, _ := lookup(reply, "code").(int32)
	return code
}

// writeErrorCode returns the code of the first write error.
func writeErrorCode(reply bson.D) int32 {
	list, _ := lookup(reply, "writeErrors").(bson.A)
	if len(list) == 0 {
		return 0
	}
	first, _ := list[0].(bson.D)
	return errorCode(first)
}

// mentions reports whether f returns true for some field in v, at any depth. f gets the path of a
// field: the name of the nearest surrounding field that is not an operator.
func mentions(v any, path string, f func(path, key string, value any) bool) bool {
	switch v := v.(type) {
	case bson.D:
		for _, e := range v {
			at := path
			if !strings.HasPrefix(e.Key, "$") {
				at = e.Key
			}
			if f(at, e.Key, e.Value) || mentions(e.Value, at, f) {
				return true
			}
		}
	case bson.A:
		for _, e := range v {
			if f(path, "", e) || mentions(e, path, f) {
				return true
			}
		}
	}
	return false
}

// isNullish reports whether a missing field can satisfy a comparison with v.
func isNullish(v any) bool {
	return v == nil || v == primitive.MinKey{} || v == primitive.MaxKey{}
}

func mentionsKey(v any, key string) bool {
	return mentions(v, "", func(_, k string, _ any) bool { return k == key })
}

// sameCount reports whether two replies have the same number of documents.
func sameCount(a, b bson.D) bool {
	ra, _ := lookup(a, "rows").(bson.A)
	rb, _ := lookup(b, "rows").(bson.A)
	return len(ra) == len(rb) && (lookup(a, "value") == nil) == (lookup(b, "value") == nil)
}
