package filter

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

var typeFailure = &failure{no: reasonType, yes: "type did match", showTypes: true}

// TypeOf is $type: it matches values of one of the types.
type TypeOf struct {
	leaf
	Set TypeSet
}

// TypeSet is a set of BSON types.
type TypeSet struct {
	// Types contains the types in ascending order of their numbers, without the types that Number
	// covers.
	Types []bsonx.Type
	// Number reports that the set contains the four numeric types: the alias "number".
	Number bool
}

// Has reports whether the set contains a type.
func (s TypeSet) Has(t bsonx.Type) bool {
	if s.Number && t.IsNumber() {
		return true
	}
	return slices.Contains(s.Types, t)
}

// IsEmpty reports whether the set contains no type.
func (s TypeSet) IsEmpty() bool { return !s.Number && len(s.Types) == 0 }

// isSingle reports whether the set was made from exactly one type name.
func (s TypeSet) isSingle() bool { return s.Number != (len(s.Types) == 1) && len(s.Types) <= 1 }

func (s TypeSet) hasNumber() bool {
	return s.Number || slices.ContainsFunc(s.Types, bsonx.Type.IsNumber)
}

func (s *TypeSet) add(t bsonx.Type) {
	if at, found := slices.BinarySearchFunc(s.Types, t, compareTypeNumbers); !found {
		s.Types = slices.Insert(s.Types, at, t)
	}
}

// addAlias adds the types of an alias. It returns false if there is no such alias.
func (s *TypeSet) addAlias(name string) bool {
	if name == "number" {
		s.Number = true
		return true
	}
	t, ok := bsonx.TypeByAlias(name)
	if ok {
		s.add(t)
	}
	return ok
}

func compareTypeNumbers(a, b bsonx.Type) int { return typeNumber(a) - typeNumber(b) }

// typeNumber returns the number of a type for $type. The number of MinKey is negative.
func typeNumber(t bsonx.Type) int { return int(int8(t)) }

// newTypeOf returns a TypeOf for the path.
func newTypeOf(path string, set TypeSet) *TypeOf { return &TypeOf{newLeaf(path), set} }

// Kind returns KindType.
func (*TypeOf) Kind() Kind { return KindType }

func (n *TypeOf) matchDoc(doc bsonx.Doc, st *state) bool { return n.path.match(doc, Elements, n, st) }

func (n *TypeOf) matchElem(v bsonx.Value, _ *state) bool {
	return !v.IsMissing() && n.Set.Has(v.Type)
}

func (n *TypeOf) serialize(b *serializer) { serializeLeaf(b, n) }

func (n *TypeOf) serializeOperator(b *serializer) {
	b.StartArrayField("$type")
	if n.Set.Number {
		b.Elem(bsonx.String("number"))
	}
	for _, t := range n.Set.Types {
		b.Elem(bsonx.Int32(int32(typeNumber(t))))
	}
	b.End()
}

func parseType(_ *parser, f field) (Node, error) {
	set, err := parseTypeSet(f.value)
	if err != nil {
		return nil, err
	}
	if set.IsEmpty() {
		return nil, mongoerr.New(mongoerr.FailedToParse, "%s must match at least one type", f.path)
	}
	return newTypeOf(f.path, set), nil
}

func parseTypeSet(v bsonx.Value) (TypeSet, error) {
	var set TypeSet
	if v.Type != bsonx.TypeArray {
		return set, set.parse(v)
	}
	for it := v.Doc().Iter(); it.Next(); {
		if err := set.parse(it.Value()); err != nil {
			return set, err
		}
	}
	return set, nil
}

func (s *TypeSet) parse(v bsonx.Value) error {
	switch {
	case v.Type == bsonx.TypeString:
		if !s.addAlias(v.Str()) {
			return mongoerr.New(mongoerr.BadValue, "Unknown type name alias: %s", v.Str())
		}
		return nil
	case v.Type.IsNumber():
		return s.parseNumber(v)
	default:
		return mongoerr.New(mongoerr.TypeMismatch, "type must be represented as a number or a string")
	}
}

func (s *TypeSet) parseNumber(v bsonx.Value) error {
	code, ok := v.AsExactInt64()
	if ok && code == 0 {
		return mongoerr.New(mongoerr.BadValue, "Invalid numerical type code: 0. Instead use {$exists:false}.")
	}
	if !ok || !isTypeCode(code) {
		return mongoerr.New(mongoerr.BadValue, "Invalid numerical type code: %s", bsonx.FormatShell(v))
	}
	s.add(bsonx.Type(uint8(code)))
	return nil
}

func isTypeCode(code int64) bool {
	return code >= int64(bsonx.TypeDouble) && code <= int64(bsonx.TypeDecimal128) || code == 127 || code == -1
}
