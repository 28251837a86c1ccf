package main

import (
	"regexp"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"
)

// knownDifference returns the known difference that d is, or nil.
func knownDifference(scanB bool, cmd bson.D, d *difference) *known {
	for i := range knownDifferences {
		if knownDifferences[i].Match(scanB, cmd, d) {
			return &knownDifferences[i]
		}
	}
	return nil
}

// sortsByProjectedPosition reports whether a find sorts by a path with an array position that its projection has too.
func sortsByProjectedPosition(cmd bson.D) bool {
	sort, _ := lookup(cmd, "sort").(bson.D)
	projection, _ := lookup(cmd, "projection").(bson.D)
	for _, e := range sort {
		if arrayPosition.MatchString(e.Key) && lookup(projection, e.Key) != nil {
			return true
		}
	}
	return false
}

var arrayPosition = regexp.MustCompile(`\.[0-9]+(\.|$)`)

// namesOne reports whether a command finds its document by its _id alone.
func namesOne(cmd bson.D) bool {
	query, _ := lookup(cmd, "query").(bson.D)
	return len(query) == 1 && query[0].Key == "_id"
}

// isRefusal reports whether a reply says that a document cannot be indexed.
func isRefusal(reply bson.D) bool {
	code := max(errorCode(reply), writeErrorCode(reply))
	return code == 171 || code == 16746
}

// isMulti reports whether a command writes several documents by one statement.
func isMulti(cmd bson.D) bool {
	updates, _ := lookup(cmd, "updates").(bson.A)
	for _, u := range updates {
		if multi, _ := lookup(u.(bson.D), "multi").(bool); multi {
			return true
		}
	}
	return false
}

// isUpsert reports whether a command may make a document out of its query.
func isUpsert(cmd bson.D) bool {
	updates, _ := lookup(cmd, "updates").(bson.A)
	for _, u := range updates {
		if lookup(u.(bson.D), "upsert") == true {
			return true
		}
	}
	return lookup(cmd, "upsert") == true
}

// leaves returns what is left of distinct values when arrays are taken apart and absent values left out.
func leaves(list bson.A) bson.A {
	out := bson.A{}
	for _, v := range list {
		switch v := v.(type) {
		case nil, primitive.Undefined:
		case bson.A:
			out = append(out, leaves(v)...)
		default:
			out = append(out, v)
		}
	}
	return unique(out)
}

// sortFields puts the fields of all documents in v into the order of their names.
func sortFields(v any) any {
	switch v := v.(type) {
	case bson.D:
		out := make(bson.D, len(v))
		for i, e := range v {
			out[i] = bson.E{Key: e.Key, Value: sortFields(e.Value)}
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

// byNames puts the fields of a document into the order of their names, those after a leading _id.
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

// sortArrays puts the elements of all arrays in v into the order of their texts.
func sortArrays(v any) any {
	switch v := v.(type) {
	case bson.D:
		out := make(bson.D, len(v))
		for i, e := range v {
			out[i] = bson.E{Key: e.Key, Value: sortArrays(e.Value)}
		}
		return out
	case bson.A:
		out := make(bson.A, len(v))
		for i, e := range v {
			out[i] = sortArrays(e)
		}
		slices.SortStableFunc(out, func(a, b any) int {
			return strings.Compare(show(bson.D{{Key: "", Value: a}}), show(bson.D{{Key: "", Value: b}}))
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

// joinedArrays returns the first names of the dotted paths by which joins find documents.
func joinedArrays(cmd bson.D) []string {
	var names []string
	mentions(cmd, "", func(_, key string, value any) bool {
		if path, _ := value.(string); key == "foreignField" || key == "connectToField" {
			if name, _, dotted := strings.Cut(path, "."); dotted {
				names = append(names, name)
			}
		}
		return false
	})
	return names
}

// withoutBare leaves out of all arrays the documents that have, in a field of these names, an array that is empty or has elements
// that are no documents.
func withoutBare(v any, names []string) any {
	bare := func(v any) bool {
		doc, _ := v.(bson.D)
		return slices.ContainsFunc(names, func(name string) bool {
			list, isArray := lookup(doc, name).(bson.A)
			return isArray && (len(list) == 0 || slices.ContainsFunc(list, func(e any) bool { _, isDoc := e.(bson.D); return !isDoc }))
		})
	}
	switch v := v.(type) {
	case bson.D:
		out := make(bson.D, len(v))
		for i, e := range v {
			out[i] = e
			if list, isArray := e.Value.(bson.A); isArray && e.Key != "rows" {
				out[i].Value = slices.DeleteFunc(slices.Clone(list), bare)
			}
			out[i].Value = withoutBare(out[i].Value, names)
		}
		return out
	case bson.A:
		out := make(bson.A, len(v))
		for i, e := range v {
			out[i] = withoutBare(e, names)
		}
		return out
	}
	return v
}

// writtenAgain returns the names of the fields that two stages or expressions write, or one of them a field in the other's.
func writtenAgain(cmd bson.D) []string {
	var seen, again []string
	mentions(cmd, "", func(_, key string, value any) bool {
		for _, path := range writtenBy(key, value) {
			name, _, _ := strings.Cut(path, ".")
			if slices.Contains(seen, name) {
				again = append(again, name)
			}
			seen = append(seen, name)
		}
		return false
	})
	return again
}

// withoutFields leaves the fields of some names out of all documents in v.
func withoutFields(v any, names []string) any {
	switch v := v.(type) {
	case bson.D:
		out := bson.D{}
		for _, e := range v {
			if !slices.Contains(names, e.Key) {
				out = append(out, bson.E{Key: e.Key, Value: withoutFields(e.Value, names)})
			}
		}
		return out
	case bson.A:
		out := make(bson.A, len(v))
		for i, e := range v {
			out[i] = withoutFields(e, names)
		}
		return out
	}
	return v
}

// writtenBy returns the paths that a stage, or the expression of a field, writes or removes.
func writtenBy(stage string, spec any) []string {
	doc, _ := spec.(bson.D)
	var paths []string
	switch stage {
	case "$addFields", "$set", "$project":
		for _, e := range doc {
			paths = append(paths, e.Key)
		}
	case "$setField", "$unsetField":
		if name, ok := lookup(doc, "field").(string); ok {
			paths = append(paths, name)
		}
	case "$setWindowFields", "$fill":
		output, _ := lookup(doc, "output").(bson.D)
		for _, e := range output {
			paths = append(paths, e.Key)
		}
	case "$lookup", "$graphLookup":
		as, _ := lookup(doc, "as").(string)
		paths = append(paths, as)
	case "$unwind":
		path, _ := spec.(string)
		if doc != nil {
			path, _ = lookup(doc, "path").(string)
			index, _ := lookup(doc, "includeArrayIndex").(string)
			paths = append(paths, index)
		}
		paths = append(paths, strings.TrimPrefix(path, "$"))
	case "$unset":
		list, isArray := spec.(bson.A)
		if !isArray {
			list = bson.A{spec}
		}
		for _, p := range list {
			path, _ := p.(string)
			paths = append(paths, path)
		}
	}
	return paths
}

// mentions reports whether some field in v, at any depth, satisfies f; path is that of the nearest field that is no
// operator.
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

// isNullish reports whether a missing value can satisfy a comparison with v.
func isNullish(v any) bool {
	return v == nil || v == primitive.MinKey{} || v == primitive.MaxKey{}
}

// mentionsNullBehindDot reports whether a null, or an end of the order, is compared with a dotted path.
func mentionsNullBehindDot(v any) bool {
	return mentions(v, "", func(path, _ string, value any) bool {
		return isNullish(value) && strings.Contains(path, ".")
	})
}

func mentionsKey(v any, key string) bool {
	return mentions(v, "", func(_, k string, _ any) bool { return k == key })
}

func mentionsEmptyAll(v any) bool {
	return mentions(v, "", func(_, key string, value any) bool {
		list, ok := value.(bson.A)
		return key == "$all" && ok && len(list) == 0
	})
}

// sameCount reports whether two replies hold equally many documents.
func sameCount(a, b bson.D) bool {
	ra, _ := lookup(a, "rows").(bson.A)
	rb, _ := lookup(b, "rows").(bson.A)
	return len(ra) == len(rb) && (lookup(a, "value") == nil) == (lookup(b, "value") == nil)
}
