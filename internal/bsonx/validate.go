package bsonx

import (
	"bytes"
	"encoding/binary"

	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// Limits contains the limits that Validate checks, in addition to well-formedness.
type Limits struct {
	// MaxDepth is the largest nesting depth; zero means limits.DocumentDepth.
	MaxDepth int
}

// Validate returns an error unless b is exactly one well-formed BSON document. It checks lengths,
// terminators, types, bools and the nesting depth. The error code is InvalidBSON, or Overflow for
// the nesting depth. Validate never panics. It allocates memory only for errors and for deeply
// nested documents.
//
// Field names and strings may contain any bytes: as in MongoDB, text that is not UTF-8 is stored
// and returned unchanged. Keys of array elements are not checked, because this package does not
// read them.
func Validate(b []byte, bounds Limits) error {
	_, err := ValidateEnding(b, bounds, nil)
	return err
}

// ValidateEnding is Validate for a document that may end with the same fields as an earlier one.
// ending is the end of a document that was validated, from the beginning of one of its fields. If b
// ends with the same bytes at a field boundary, these fields are not checked again, and at is their
// offset. Otherwise at is 0.
func ValidateEnding(b []byte, bounds Limits, ending []byte) (at int, err error) {
	if bounds.MaxDepth <= 0 || bounds.MaxDepth > limits.DocumentDepth {
		bounds.MaxDepth = limits.DocumentDepth
	}
	v := validator{b: b, limits: bounds, ending: ending, endingAt: -1}
	if len(ending) > 0 {
		v.endingAt = len(b) - len(ending)
	}
	if msg := v.run(); msg != "" {
		return 0, v.error(msg)
	}
	return v.found, nil
}

// usualDepth is the nesting depth up to which Validate does not allocate.
const usualDepth = 32

// validator is the state of one validation, which iterates over the bytes once and without
// recursion. ends contains the offset of the terminating zero of each open document, and deeper
// continues it below usualDepth. They are separate because clearing memory for the deepest
// documents would take as long as checking a small document.
type validator struct {
	b      []byte
	limits Limits
	pos    int
	name   []byte // the name of the field that is being checked
	depth  int
	ends   [usualDepth]int32
	deeper []int32
	// ending is the expected end of the document, and endingAt the offset at which it would begin.
	// found is that offset if the document ends that way.
	ending          []byte
	endingAt, found int
}

const (
	badLength     = "incorrect BSON length"
	badTerminator = "BSON object not terminated with EOO"
	badName       = "field name is not terminated by a zero byte"
	badString     = "Not null terminated string"
	badBool       = "BSON bool is neither false nor true"
	badType       = "Unrecognized BSON type"
	tooDeep       = "BSONObj exceeds maximum nested object depth"
)

// run returns the reason why the document is invalid, or "".
func (v *validator) run() string {
	if msg := v.open(len(v.b)); msg != "" {
		return msg
	}
	if int(v.ends[0]) != len(v.b)-1 {
		return badLength
	}
	for v.depth > 0 {
		end := v.end()
		if v.pos == end {
			v.pos++
			v.depth--
			continue
		}
		if v.pos == v.endingAt && v.depth == 1 && bytes.Equal(v.b[v.pos:], v.ending) {
			v.found = v.pos
			return ""
		}
		t := Type(v.b[v.pos])
		name, ok := v.cstring(v.pos+1, end)
		if !ok {
			return badName
		}
		v.name = name
		v.pos += 2 + len(name)
		if msg := v.value(t, end); msg != "" {
			return msg
		}
	}
	return ""
}

// end returns the offset of the terminating zero of the innermost open document.
func (v *validator) end() int {
	if v.depth <= usualDepth {
		return int(v.ends[v.depth-1])
	}
	return int(v.deeper[v.depth-usualDepth-1])
}

// value checks the payload at pos, which must not extend beyond end. It moves pos after the
// payload, or to the first field if the payload is a document.
func (v *validator) value(t Type, end int) string {
	switch t {
	case TypeDouble, TypeDate, TypeTimestamp, TypeInt64:
		return v.fixed(8, end)
	case TypeInt32:
		return v.fixed(4, end)
	case TypeObjectID:
		return v.fixed(12, end)
	case TypeDecimal128:
		return v.fixed(16, end)
	case TypeNull, TypeUndefined, TypeMinKey, TypeMaxKey:
		return ""
	case TypeBool:
		if v.pos < end && v.b[v.pos] > 1 {
			return badBool
		}
		return v.fixed(1, end)
	case TypeString, TypeCode, TypeSymbol:
		return v.text(end)
	case TypeDocument, TypeArray:
		return v.open(end)
	case TypeBinary:
		return v.binary(end)
	case TypeRegex:
		return v.regex(end)
	case TypeDBPointer:
		if msg := v.text(end); msg != "" {
			return msg
		}
		return v.fixed(12, end)
	case TypeCodeWithScope:
		return v.codeWithScope(end)
	default:
		return badType
	}
}

func (v *validator) fixed(n, end int) string {
	if end-v.pos < n {
		return badLength
	}
	v.pos += n
	return ""
}

// length reads the length at pos. It returns false unless at least four bytes remain and minimum ≤
// length ≤ end-pos.
func (v *validator) length(minimum, end int) (int, bool) {
	if end-v.pos < 4 {
		return 0, false
	}
	n := int(int32(binary.LittleEndian.Uint32(v.b[v.pos:])))
	return n, n >= minimum && n <= end-v.pos
}

// open checks the header of a document and moves to its first field.
func (v *validator) open(end int) string {
	n, ok := v.length(5, end)
	if !ok {
		return badLength
	}
	if v.depth == v.limits.MaxDepth {
		return tooDeep
	}
	last := v.pos + n - 1
	if v.b[last] != 0 {
		return badTerminator
	}
	if v.depth < usualDepth {
		v.ends[v.depth] = int32(last)
	} else {
		v.deeper = append(v.deeper[:v.depth-usualDepth], int32(last))
	}
	v.depth++
	v.pos += 4
	return ""
}

func (v *validator) text(end int) string {
	if end-v.pos < 4 {
		return badLength
	}
	n := int(int32(binary.LittleEndian.Uint32(v.b[v.pos:])))
	if n < 1 || n > end-v.pos-4 {
		return badLength
	}
	body := v.b[v.pos+4 : v.pos+4+n]
	if body[n-1] != 0 {
		return badString
	}
	v.pos += 4 + n
	return ""
}

func (v *validator) binary(end int) string {
	if end-v.pos < 5 {
		return badLength
	}
	n := int(int32(binary.LittleEndian.Uint32(v.b[v.pos:])))
	if n < 0 || n > end-v.pos-5 {
		return badLength
	}
	v.pos += 5 + n
	return ""
}

func (v *validator) regex(end int) string {
	for range 2 {
		s, ok := v.cstring(v.pos, end)
		if !ok {
			return badString
		}
		v.pos += len(s) + 1
	}
	return ""
}

// codeWithScope checks the code and opens the scope, which must end where the whole value ends.
func (v *validator) codeWithScope(end int) string {
	n, ok := v.length(4+5+5, end)
	if !ok {
		return badLength
	}
	last := v.pos + n
	v.pos += 4
	if msg := v.text(last); msg != "" {
		return msg
	}
	if msg := v.open(last); msg != "" {
		return msg
	}
	if v.end() != last-1 {
		return badLength
	}
	return ""
}

// cstring returns the bytes from the offset from up to the next zero byte, which must come before
// end.
func (v *validator) cstring(from, end int) ([]byte, bool) {
	rest := v.b[from:max(end, from)]
	// A loop is faster than a call for short names.
	for i, c := range rest {
		if c == 0 {
			return rest[:i], true
		}
		if i == 32 {
			break
		}
	}
	i := bytes.IndexByte(rest, 0)
	if i < 0 {
		return nil, false
	}
	return rest[:i], true
}

// error returns an error with MongoDB's text, which contains the name of the field.
func (v *validator) error(msg string) error {
	if msg == tooDeep {
		return mongoerr.New(mongoerr.Overflow, "%s", msg)
	}
	if v.name == nil {
		return mongoerr.New(mongoerr.InvalidBSON, "%s in object with unknown _id", msg)
	}
	return mongoerr.New(mongoerr.InvalidBSON, "%s in element with field name '%s' in object with unknown _id",
		msg, bytes.ToValidUTF8(v.name, []byte("\uFFFD")))
}
