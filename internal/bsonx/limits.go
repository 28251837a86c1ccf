package bsonx

import (
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// minLevel is the overhead of one level of nesting in bytes: a document with one field that has an
// empty name.
const minLevel = 7

// CheckResult returns an error if a computed document is too large or nested too deeply to be
// returned by a query.
func (d Doc) CheckResult() error {
	if len(d) > limits.InternalDocumentBytes {
		return mongoerr.New(mongoerr.BSONObjectTooLarge, "BSONObj size: %d (0x%X) is invalid. Size must be between 0 and %d(16MB)",
			len(d), len(d), limits.InternalDocumentBytes)
	}
	if Document(d).Deeper(limits.DocumentDepth) {
		return mongoerr.New(mongoerr.Overflow, "cannot convert document to BSON because it exceeds the limit of %d levels of nesting", limits.DocumentDepth)
	}
	return nil
}

// Deeper reports whether the nesting depth of documents and arrays in v exceeds limit. The value
// itself counts as one level. It descends only into values that are long enough for such a depth.
func (v Value) Deeper(limit int) bool {
	if v.Type != TypeDocument && v.Type != TypeArray || len(v.Data) < minLevel*limit {
		return false
	}
	if limit <= 0 {
		return true
	}
	for it := v.Doc().Iter(); it.Next(); {
		if it.Value().Deeper(limit - 1) {
			return true
		}
	}
	return false
}
