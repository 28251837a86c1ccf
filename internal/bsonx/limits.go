package bsonx

import (
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// minLevel is what a document with one field of an empty name takes around that field.
const minLevel = 7

// CheckResult refuses a computed document that is too large, or nested too deeply, to leave the
// query.
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

// Deeper reports whether more documents and arrays than limit are inside each other, the value
// itself included. It looks only at what is long enough for that.
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
