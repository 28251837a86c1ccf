package command

import (
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// Field is an argument of a command.
type Field struct {
	Name string
	Type FieldType
	// Required fields must be present, in the body or, if Sequence is set, as a document sequence.
	Required bool
	// Sequence fields are arrays of documents that clients may send as an OP_MSG section of kind 1.
	Sequence bool
	// Unstable fields are refused under apiStrict.
	Unstable bool
	// Check validates a value that has an accepted type, for example AtLeast. It may be nil.
	Check func(name string, v bsonx.Value) error
	// Fields describe the subfields of a document, or of the documents in an array. Tests read
	// them. Commands parse the subfields themselves with ParseFields.
	Fields []Field
	// Strict makes the parser check the document against Fields, for a command that does not read
	// it.
	Strict bool
}

// FieldType is the set of BSON types that a field accepts. The zero value accepts every type, also
// null.
type FieldType struct {
	Types []bsonx.Type
	// Wrong is a message that replaces the parser's usual one for a wrong type. Its first %s is the
	// field's name and its second %s the type. It marks fields that MongoDB reads without its IDL,
	// so null and undefined also have a wrong type.
	Wrong string
	// Variant marks a variant type of MongoDB's IDL: null and undefined have a wrong type too.
	Variant bool
	// Told replaces the list of types in error messages.
	Told string
}

// The field types of MongoDB's IDL. Each lists its types in the order in which MongoDB's messages
// name them.
var (
	Any       = FieldType{}
	Bool      = OneOf(bsonx.TypeBool)
	String    = OneOf(bsonx.TypeString)
	Object    = OneOf(bsonx.TypeDocument)
	Array     = OneOf(bsonx.TypeArray)
	Long      = OneOf(bsonx.TypeInt64)
	Int       = OneOf(bsonx.TypeInt32)
	BinData   = OneOf(bsonx.TypeBinary)
	Timestamp = OneOf(bsonx.TypeTimestamp)
	ObjectID  = OneOf(bsonx.TypeObjectID)
	SafeBool  = OneOf(bsonx.TypeBool, bsonx.TypeInt64, bsonx.TypeInt32, bsonx.TypeDecimal128, bsonx.TypeDouble)
	SafeInt   = OneOf(bsonx.TypeInt64, bsonx.TypeInt32, bsonx.TypeDecimal128, bsonx.TypeDouble)
	// OptionalBool and OwnedObject have their own messages for a wrong type.
	OptionalBool = FieldType{
		Types: []bsonx.Type{bsonx.TypeBool},
		Wrong: "Field '%s' should be a boolean value, but found: %s",
	}
	OwnedObject = FieldType{Types: []bsonx.Type{bsonx.TypeDocument}, Wrong: "Expected field %s to be of type object"}
)

// OneOf returns a field type that accepts several BSON types.
func OneOf(types ...bsonx.Type) FieldType { return FieldType{Types: types} }

// Variant returns a field type that accepts several BSON types, and for which null is an error.
func Variant(types ...bsonx.Type) FieldType { return FieldType{Types: types, Variant: true} }

// StringOr returns a field type that accepts a string or one other type.
func StringOr(other bsonx.Type) FieldType { return OneOf(bsonx.TypeString, other) }

// Accepts reports whether the field type accepts a value of the BSON type t.
func (f FieldType) Accepts(t bsonx.Type) bool {
	if len(f.Types) == 0 {
		return true
	}
	for _, want := range f.Types {
		if want == t {
			return true
		}
	}
	return false
}

// Is reports whether f and g list the same BSON types in the same order.
func (f FieldType) Is(g FieldType) bool { return slices.Equal(f.Types, g.Types) }

// String lists the types in the format of MongoDB's messages.
func (f FieldType) String() string {
	if f.Told != "" {
		return f.Told
	}
	names := make([]string, len(f.Types))
	for i, t := range f.Types {
		names[i] = t.String()
	}
	if len(names) == 1 {
		return "type '" + names[0] + "'"
	}
	return "types '[" + strings.Join(names, ", ") + "]'"
}

// The errors of MongoDB's IDL parser. path is "command.field".

// WrongType returns the error for a field whose value has the type got instead of want.
func WrongType(path string, got bsonx.Type, want FieldType) error {
	return mongoerr.New(mongoerr.TypeMismatch, "BSON field '%s' is the wrong type '%s', expected %s", path, got, want)
}

// MissingField returns the error for a required field that is absent.
func MissingField(path string) error {
	return mongoerr.New(mongoerr.IDLFailedToParse, "BSON field '%s' is missing but a required field", path)
}

// UnknownField returns the error for a field that is not defined.
func UnknownField(path string) error {
	return mongoerr.New(mongoerr.IDLUnknownField, "BSON field '%s' is an unknown field.", path)
}

// DuplicateField returns the error for a field that occurs twice.
func DuplicateField(path string) error {
	return mongoerr.New(mongoerr.IDLDuplicateField, "BSON field '%s' is a duplicate field", path)
}

// AtLeast returns a Check that refuses numbers less than min.
func AtLeast(min int64) func(string, bsonx.Value) error {
	return Between(min, 1<<63-1)
}

// Between returns a Check that refuses numbers outside [min, max].
func Between(min, max int64) func(string, bsonx.Value) error {
	return func(name string, v bsonx.Value) error {
		n := bsonx.SaturatingInt64(v)
		if n < min {
			return mongoerr.New(mongoerr.BadValue,
				"BSON field '%s' value must be >= %d, actual value '%d'", name, min, n)
		}
		if n > max {
			return mongoerr.New(mongoerr.BadValue,
				"BSON field '%s' value must be <= %d, actual value '%d'", name, max, n)
		}
		return nil
	}
}

// ParseFields checks an embedded document as MongoDB's IDL checks sub-documents: unknown and
// duplicate fields, types and required fields. For each present field it calls set with the field's
// index and value. path names the document in error messages.
func ParseFields(path string, doc bsonx.Doc, fields []Field, set func(i int, v bsonx.Value) error) error {
	var seen uint64
	for it := doc.Iter(); it.Next(); {
		i := fieldIndex(fields, it.Key())
		if i < 0 {
			return UnknownField(path + "." + string(it.Key()))
		}
		if seen&(1<<i) != 0 {
			return DuplicateField(path + "." + fields[i].Name)
		}
		seen |= 1 << i
		present, err := CheckField(path, &fields[i], it.Value())
		if err != nil {
			return err
		}
		if !present {
			seen &^= 1 << i
			continue
		}
		if err := set(i, it.Value()); err != nil {
			return err
		}
	}
	for i := range fields {
		if fields[i].Required && seen&(1<<i) == 0 {
			return MissingField(path + "." + fields[i].Name)
		}
	}
	return nil
}

// CheckField reports whether a field with the value v counts as present, and returns an error if
// the field f does not allow v. path names the document in the error.
func CheckField(path string, f *Field, v bsonx.Value) (bool, error) {
	if !f.Type.Accepts(v.Type) {
		switch {
		case f.Type.Wrong != "" && !strings.Contains(f.Type.Wrong, "%s"):
			return false, &mongoerr.Error{Code: mongoerr.TypeMismatch, Message: f.Type.Wrong}
		case f.Type.Wrong != "" && strings.Count(f.Type.Wrong, "%s") == 1:
			return false, mongoerr.New(mongoerr.TypeMismatch, f.Type.Wrong, f.Name)
		case f.Type.Wrong != "":
			return false, mongoerr.New(mongoerr.TypeMismatch, f.Type.Wrong, f.Name, v.Type)
		case !f.Type.Variant && IsAbsent(v):
			return false, nil
		}
		return false, WrongType(path+"."+f.Name, v.Type, f.Type)
	}
	if f.Strict {
		return true, ParseFields(path+"."+f.Name, v.Doc(), f.Fields, func(int, bsonx.Value) error { return nil })
	}
	if f.Check != nil {
		return true, f.Check(f.Name, v)
	}
	return true, nil
}

// IsAbsent reports whether a value counts as absent: null or undefined.
func IsAbsent(v bsonx.Value) bool { return v.Type == bsonx.TypeNull || v.Type == bsonx.TypeUndefined }

func fieldIndex(fields []Field, key []byte) int {
	for i := range fields {
		if len(fields[i].Name) == len(key) && fields[i].Name == string(key) {
			return i
		}
	}
	return -1
}

// DocsOf returns the documents of an array and skips null elements. Any other element is an error,
// in which path names the array.
func DocsOf(path string, v bsonx.Value) ([]bsonx.Doc, error) {
	var out []bsonx.Doc
	for it := v.Doc().Iter(); it.Next(); {
		if IsAbsent(it.Value()) {
			continue
		}
		if it.Value().Type != bsonx.TypeDocument {
			return nil, WrongType(path+"."+string(it.Key()), it.Value().Type, Object)
		}
		out = append(out, it.Value().Doc())
	}
	return out, nil
}
