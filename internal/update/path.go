package update

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// step is the kind of one component of an update path.
type step int

const (
	stepField      step = iota // a field name or an array index
	stepPositional             // $
	stepArray                  // $[] and $[identifier]
)

// component is one part of a dotted update path.
type component struct {
	step step
	name string // the field name, or the identifier of $[identifier]; empty for $[]
}

// parsePath splits and checks a dotted path. It appends the components to out, which must be empty.
func parsePath(out []component, path string) ([]component, error) {
	if path == "" {
		return out, mongoerr.New(mongoerr.EmptyFieldName, "An empty update path is not valid.")
	}
	positional := 0
	for part := range strings.SplitSeq(path, ".") {
		c := parseComponent(part)
		if part == "" {
			return out, mongoerr.New(mongoerr.EmptyFieldName,
				"The update path '%s' contains an empty field name, which is not allowed.", path)
		}
		if c.step != stepField && len(out) == 0 {
			return out, firstPositionError(c, path)
		}
		if c.step == stepPositional {
			positional++
		}
		out = append(out, c)
	}
	if positional > 1 {
		return out, mongoerr.New(mongoerr.BadValue, "Too many positional (i.e. '$') elements found in path '%s'", path)
	}
	return out, nil
}

func parseComponent(part string) component {
	switch {
	case part == "$":
		return component{step: stepPositional, name: part}
	case strings.HasPrefix(part, "$[") && strings.HasSuffix(part, "]"):
		return component{step: stepArray, name: part[2 : len(part)-1]}
	default:
		return component{step: stepField, name: part}
	}
}

func firstPositionError(c component, path string) error {
	kind := "positional (i.e. '$')"
	if c.step == stepArray {
		kind = "array filter identifier (i.e. '$[<id>]')"
	}
	return mongoerr.New(mongoerr.BadValue, "Cannot have %s element in the first position in path '%s'", kind, path)
}

// compareNames orders sibling path components: array indexes by number, and all others as text.
func compareNames(a, b string) int {
	if isIndex(a) && isIndex(b) && len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// isIndex reports whether a name is a decimal number without leading zeros.
func isIndex(name string) bool {
	return isDigits(name) && (name[0] != '0' || len(name) == 1)
}

func isDigits(name string) bool {
	for i := range len(name) {
		if name[i] < '0' || name[i] > '9' {
			return false
		}
	}
	return name != ""
}

// arrayIndex parses a path component as an index into an existing array. Leading zeros are allowed.
// It returns -1 for any other text, and for a number of 19 digits or more.
func arrayIndex(name string) int {
	if !isDigits(name) {
		return -1
	}
	name = strings.TrimLeft(name, "0")
	if name == "" {
		return 0
	}
	if i, ok := bsonx.ArrayIndex(name); ok {
		return i
	}
	if len(name) < 19 {
		return maxIndex
	}
	return -1
}

// maxIndex represents every index beyond the longest array that a document can contain.
const maxIndex = 1 << 40

// touched returns the path below which an operator at the given path can change index keys. Steps
// through the elements of an array are left out, because they do not affect other elements
// ("a.$[].b" gives "a.b"). The path ends before an array index, because a longer array has new keys
// at all paths ("a.3.b" gives "a").
func touched(path string) string {
	return cutPath(path, func(part string) (end, skip bool) {
		return isDigits(part), parseComponent(part).step != stepField
	})
}

// indexed returns the path of an index without array indexes.
func indexed(path string) string {
	return cutPath(path, func(part string) (end, skip bool) { return false, isDigits(part) })
}

// cutPath returns a path up to the first component for which judge returns end, without the
// components for which it returns skip. It always keeps the first component.
func cutPath(path string, judge func(part string) (end, skip bool)) string {
	from := strings.IndexByte(path, '.')
	if from < 0 {
		return path
	}
	var out []byte // nil until a component is skipped
	for from < len(path) {
		to := len(path)
		if n := strings.IndexByte(path[from+1:], '.'); n >= 0 {
			to = from + 1 + n
		}
		end, skip := judge(path[from+1 : to])
		switch {
		case end && out == nil:
			return path[:from]
		case end:
			return string(out)
		case skip && out == nil:
			out = []byte(path[:from])
		case !skip && out != nil:
			out = append(out, path[from:to]...)
		}
		from = to
	}
	if out == nil {
		return path
	}
	return string(out)
}

// related reports whether one path equals the other or is a prefix of it.
func related(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return strings.HasPrefix(b, a) && (len(a) == len(b) || b[len(a)] == '.')
}
