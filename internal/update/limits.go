package update

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// Error codes for a document that becomes too large. MongoDB has no names for them.
const (
	updateTooLarge mongoerr.Code = 17419
	upsertTooLarge mongoerr.Code = 17420
)

func tooDeep() error {
	return mongoerr.New(mongoerr.Overflow, "Document exceeds maximum nesting depth of %d", limits.StoredDepth)
}

// checkNesting returns an error if v is nested too deeply. outside is the number of documents that
// enclose it.
func checkNesting(v bsonx.Value, outside int) error {
	if v.Type != bsonx.TypeDocument && v.Type != bsonx.TypeArray {
		return nil
	}
	if outside >= limits.StoredDepth {
		return tooDeep()
	}
	for it := v.Doc().Iter(); it.Next(); {
		if err := checkNesting(it.Value(), outside+1); err != nil {
			return err
		}
	}
	return nil
}

// checkID returns an error for a value that cannot be an _id.
func checkID(v bsonx.Value) error {
	if err := checkIDType(v); err != nil {
		return err
	}
	if v.Type == bsonx.TypeDocument {
		if name := dollarName(v.Doc()); name != "" {
			return mongoerr.New(mongoerr.DollarPrefixedFieldName,
				"_id fields may not contain '$'-prefixed fields: %s is not valid for storage.", name)
		}
	}
	return nil
}

// checkIDType returns an error for types that an _id cannot have.
func checkIDType(v bsonx.Value) error {
	switch v.Type {
	case bsonx.TypeArray, bsonx.TypeRegex, bsonx.TypeUndefined:
		return mongoerr.New(mongoerr.InvalidIdField, "The '_id' value cannot be of type %s", v.Type)
	default:
		return nil
	}
}

// dollarName returns the first field name in d that begins with $, also in nested documents, or "".
func dollarName(d bsonx.Doc) string {
	for it := d.Iter(); it.Next(); {
		if strings.HasPrefix(string(it.Key()), "$") {
			return string(it.Key())
		}
		if v := it.Value(); v.Type == bsonx.TypeDocument || v.Type == bsonx.TypeArray {
			if name := dollarName(v.Doc()); name != "" {
				return name
			}
		}
	}
	return ""
}

// dollarError returns the error for a field name that begins with $ in an update.
func dollarError(name, path string) error {
	return mongoerr.New(mongoerr.DollarPrefixedFieldName, "The dollar ($) prefixed field '%s' in '%s' is not allowed in the "+
		"context of an update's replacement document. Consider using an aggregation pipeline with $replaceWith.", name, path)
}
