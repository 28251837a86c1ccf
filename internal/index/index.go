package index

import "strings"

// Field is one component of a key pattern.
type Field struct {
	// Path is a dotted path.
	Path string
	// Desc means that the field's value in the pattern is negative.
	Desc bool
	// Kind says what the field holds.
	Kind Kind
}

// Holds reports whether the field holds the values at that path unchanged and in their order.
func (f Field) Holds(path string) bool { return f.Kind == Ordered && f.Path == path }

// Pattern is the key pattern of an index: its fields in order.
type Pattern []Field

// String returns the default name that MongoDB gives to an index with this pattern: "a_1_b_-1".
func (p Pattern) String() string {
	var b strings.Builder
	for i, f := range p {
		if i > 0 {
			b.WriteByte('_')
		}
		b.WriteString(f.Path)
		if f.Desc {
			b.WriteString("_-1")
		} else {
			b.WriteString("_1")
		}
	}
	return b.String()
}

// MultikeyPaths has a number for each field of a pattern. Bit k of the number is set if component k
// of the field's path was an array in some indexed document. If all bits are zero, or the slice is
// nil, the index is not multikey.
type MultikeyPaths []uint64

// IsMultikey reports whether any component was an array.
func (m MultikeyPaths) IsMultikey() bool {
	for _, bits := range m {
		if bits != 0 {
			return true
		}
	}
	return false
}

// Covers reports whether m has all bits of other.
func (m MultikeyPaths) Covers(other MultikeyPaths) bool {
	for i, bits := range other {
		if bits != 0 && (i >= len(m) || m[i]&bits != bits) {
			return false
		}
	}
	return true
}

// Union returns the bits that are set in m or in other.
func (m MultikeyPaths) Union(other MultikeyPaths) MultikeyPaths {
	out := make(MultikeyPaths, max(len(m), len(other)))
	copy(out, m)
	for i, bits := range other {
		out[i] |= bits
	}
	return out
}
