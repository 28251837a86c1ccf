package table

import (
	"fmt"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// decode returns the fields of an index key as a document with the field names of the pattern.
func (ix *Index) decode(key, typeBits []byte) (bsonx.Doc, error) {
	return index.DecodeKey(ix.Pattern, key, typeBits)
}

// duplicateID returns the error for a second document with the same _id.
func duplicateID(c *Collection, id bsonx.Value, r *interrupt.Running) error {
	shown, err := c.Collation.Displayed(id, r)
	if err != nil {
		return err
	}
	return duplicateError(c, "_id_", c.Collation, bsonx.NewDoc("_id", 1), bsonx.NewDoc("_id", shown))
}

func duplicateError(c *Collection, name string, co *collation.Collator, pattern, value bsonx.Doc) error {
	info := bsonx.NewDoc("keyPattern", pattern, "keyValue", value)
	collated := ""
	if co != nil {
		collated = " collation: " + bsonx.FormatShell(bsonx.Document(co.Spec()))
		info = bsonx.NewDoc("keyPattern", pattern, "keyValue", value, "collation", co.Spec())
	}
	return mongoerr.New(mongoerr.DuplicateKey, "E11000 duplicate key error collection: %s index: %s%s dup key: %s",
		c.Namespace(), name, collated, bsonx.FormatShell(bsonx.Document(value))).WithInfo(info)
}

// DuplicateKey returns the error for a second document with the same values in a unique index. key
// and typeBits are the fields of the existing entry.
func DuplicateKey(c *Collection, ix *Index, key, typeBits []byte) error {
	value, err := ix.decode(key, typeBits)
	if err != nil {
		return fmt.Errorf("decode duplicate key: %w", err)
	}
	if ix.Collation != nil {
		value = collation.Display(bsonx.Document(value)).Doc()
	}
	return duplicateError(c, ix.Name, ix.Collation, ix.Key, value)
}

// RefusedRecord is the error for a stored record that an index cannot accept.
type RefusedRecord struct{ Err error }

// Error returns the message of the error.
func (r *RefusedRecord) Error() string { return r.Err.Error() }

// Unwrap returns the wrapped error.
func (r *RefusedRecord) Unwrap() error { return r.Err }
