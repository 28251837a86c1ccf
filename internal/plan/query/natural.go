package query

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// CheckNatural fails if a hint contradicts a sort by $natural.
func CheckNatural(sort, hint int, index bool) error {
	switch {
	case index:
		return mongoerr.New(mongoerr.BadValue, "index hint not allowed with $natural sort order")
	case hint != 0 && hint != sort:
		return mongoerr.New(mongoerr.BadValue, "$natural hint must be in the same direction as $natural sort order")
	default:
		return nil
	}
}

// HintDirection returns the direction of a $natural hint, or 0 for other hints.
func HintDirection(v bsonx.Value) (int, error) {
	if v.Type != bsonx.TypeDocument {
		return 0, nil
	}
	n := v.Doc().Lookup("$natural")
	switch {
	case n.IsMissing():
		return 0, nil
	case v.Doc().Len() > 1:
		n = bsonx.Missing // Direction fails for a missing value
	}
	return Direction("hint", n)
}

// CheckHint fails for an invalid $natural hint.
func CheckHint(hint bsonx.Value) error {
	_, err := HintDirection(hint)
	return err
}

// NaturalHint returns the hint that replaces a sort by $natural in a pipeline, which has no such
// sort. It returns bsonx.Missing for other sorts. It fails if hint contradicts the sort.
func NaturalHint(sort bsonx.Doc, hint bsonx.Value) (bsonx.Value, error) {
	v := sort.Lookup("$natural")
	if v.IsMissing() {
		return bsonx.Missing, nil
	}
	direction, err := Direction("sort", v)
	if err != nil {
		return bsonx.Missing, err
	}
	hinted, err := HintDirection(hint)
	if err == nil {
		index := hint.Type == bsonx.TypeString || !hint.Doc().IsEmpty()
		err = CheckNatural(direction, hinted, hinted == 0 && index)
	}
	return bsonx.Document(bsonx.NewDoc("$natural", int32(direction))), err
}

// Direction reads the direction of a scan from a sort or a hint. of is "sort" or "hint", for the
// error.
func Direction(of string, v bsonx.Value) (int, error) {
	if i, ok := v.AsExactInt64(); ok && (i == 1 || i == -1) {
		return int(i), nil
	}
	return 0, mongoerr.New(mongoerr.BadValue, "$natural %s cannot be set to a value other than -1 or 1.", of)
}
