package crud

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// The error codes of MongoDB for sort patterns.
const (
	codeSortValue     = mongoerr.Code(15974)
	codeSortDirection = mongoerr.Code(15975)
	codeTooManyKeys   = mongoerr.Code(13103)
	codeMetaSort      = mongoerr.Code(31138)
	codeNoMetaSort    = mongoerr.Code(17312)
)

// CheckSort returns an error for a sort pattern that MongoDB does not accept.
func CheckSort(pattern bsonx.Doc) error {
	if pattern.Len() > limits.SortFields {
		return mongoerr.New(codeTooManyKeys, "too many compound keys")
	}
	for it := pattern.Iter(); it.Next(); {
		name, v := string(it.Key()), it.Value()
		if name == "$natural" {
			if err := checkNatural(pattern, v); err != nil {
				return err
			}
			continue
		}
		if _, err := expr.SplitFieldPath(name); err != nil {
			return err
		}
		if err := checkSortValue(name, v); err != nil {
			return err
		}
	}
	return nil
}

func checkNatural(pattern bsonx.Doc, v bsonx.Value) error {
	n, ok := v.AsExactInt64()
	if !ok || n != 1 && n != -1 || pattern.Len() > 1 {
		return mongoerr.New(mongoerr.BadValue, "$natural sort cannot be set to a value other than -1 or 1.")
	}
	return nil
}

func checkSortValue(name string, v bsonx.Value) error {
	if v.Type == bsonx.TypeDocument {
		return checkSortMeta(v)
	}
	if !v.Type.IsNumber() {
		return mongoerr.New(codeSortValue, "Illegal key in $sort specification: %s: %s", name, bsonx.FormatShell(v))
	}
	if n, ok := v.RoundInt64(); !ok || n != 1 && n != -1 {
		return mongoerr.New(codeSortDirection, "$sort key ordering must be 1 (for ascending) or -1 (for descending)")
	}
	return nil
}

func checkSortMeta(v bsonx.Value) error {
	meta := v.Doc().Lookup("$meta")
	switch {
	case meta.IsMissing():
		return mongoerr.New(codeNoMetaSort, "$meta is the only expression supported by $sort right now")
	case v.Doc().Len() > 1:
		return mongoerr.New(mongoerr.FailedToParse, "Cannot have additional keys in a $meta sort specification")
	case meta.Type != bsonx.TypeString:
		return mongoerr.New(codeMetaSort, "Illegal $meta sort: $meta: %s", bsonx.FormatShell(meta))
	}
	switch kind := expr.Metadata(meta.Str()); {
	case kind.SortPath != "":
		return nil // the planner checks whether the query has a matching search
	case kind.From == expr.AtlasSearch:
		return expr.NoMeta(kind.Name)
	default:
		return mongoerr.New(codeMetaSort, "Illegal $meta sort: $meta: %q", meta.Str())
	}
}
