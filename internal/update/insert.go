package update

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// PrepareInsert returns a document as an insert stores it. It checks the document and puts _id
// first. If _id is missing, newID creates it; a nil newID means ObjectIds. Zero timestamps in
// top-level fields are replaced by the next cluster time, unless timestamp is nil. PrepareInsert
// returns doc itself if nothing changes.
func PrepareInsert(doc bsonx.Doc, newID func() bsonx.Value, timestamp func() (t, i uint32)) (bsonx.Doc, error) {
	if len(doc) > limits.DocumentBytes {
		return nil, mongoerr.New(mongoerr.BadValue, "object to insert too large. size in bytes: %d, max size: %d", len(doc), limits.DocumentBytes)
	}
	var id bsonx.Value
	first, n := false, 0
	for it := doc.Iter(); it.Next(); n++ {
		key, v := it.Key(), it.Value()
		if checkNesting(v, 1) != nil {
			return nil, mongoerr.New(mongoerr.Overflow, "cannot insert document because it exceeds %d levels of nesting", limits.StoredDepth)
		}
		if string(key) != "_id" {
			continue
		}
		if !id.IsMissing() {
			return nil, mongoerr.New(mongoerr.BadValue, "can't have multiple _id fields in one document")
		}
		if err := checkID(v); err != nil {
			return nil, err
		}
		id, first = v, n == 0
	}
	doc = fixTimestamps(doc, timestamp)
	if first {
		return doc, nil
	}
	if id.IsMissing() {
		if newID == nil {
			newID = newObjectID
		}
		id = newID()
	}
	out := withID(id, doc)
	if len(out) > limits.DocumentBytes {
		return nil, mongoerr.New(mongoerr.BadValue, "object to insert too large. size in bytes: %d, max size: %d", len(out), limits.DocumentBytes)
	}
	return out, nil
}

// newObjectID returns a new ObjectId as a value.
func newObjectID() bsonx.Value { return bsonx.ObjectID(bson.NewObjectID()) }
