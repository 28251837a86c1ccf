package update

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// replace returns the document that replaces old. _id comes first; it is the _id of made or, if
// made has no _id, of old. dollars permits top-level names that begin with $. If insert is true,
// the caller checks the _id later.
func replace(old, made bsonx.Doc, dollars, insert bool) (bsonx.Doc, error) {
	if err := checkReplacement(made, dollars); err != nil {
		return nil, err
	}
	oldID, newID := old.Lookup("_id"), made.Lookup("_id")
	if !insert {
		if err := checkIDType(newID); err != nil {
			return nil, err
		}
	}
	if err := checkSameID(oldID, newID); err != nil {
		return nil, err
	}
	if newID.IsMissing() {
		newID = oldID
	}
	return withID(newID, made), nil
}

// checkReplacement checks the names and the nesting of a new document.
func checkReplacement(made bsonx.Doc, dollars bool) error {
	for it := made.Iter(); it.Next(); {
		key, v := it.Key(), it.Value()
		if !dollars && len(key) > 0 && key[0] == '$' {
			return dollarError(string(key), string(key))
		}
		if string(key) == "_id" && v.Type == bsonx.TypeDocument {
			if name := dollarName(v.Doc()); name != "" {
				return dollarError(name, "_id."+name)
			}
		}
		if err := checkNesting(v, 1); err != nil {
			return err
		}
	}
	return nil
}

// checkSameID compares the _id before and after an update. The numeric type may change.
func checkSameID(before, after bsonx.Value) error {
	if after.IsMissing() {
		return nil
	}
	if after.Type == bsonx.TypeArray {
		return mongoerr.New(mongoerr.NotSingleValueField,
			"After applying the update to the document, the (immutable) field '_id' was found to be an array or array descendant.")
	}
	if !before.IsMissing() && bsonx.CompareValues(before, after) != 0 {
		return mongoerr.New(mongoerr.ImmutableField,
			"After applying the update, the (immutable) field '_id' was found to have been altered to _id: %s", shell(after))
	}
	return nil
}

// withID returns doc with id as its only _id and first field. If id is missing, the result has no
// _id.
func withID(id bsonx.Value, doc bsonx.Doc) bsonx.Doc {
	b := bsonx.NewBuilder(make([]byte, 0, len(doc)+len(id.Data)+5))
	b.StartDoc()
	b.Value("_id", id)
	for it := doc.Iter(); it.Next(); {
		if string(it.Key()) != "_id" {
			b.ValueBytes(it.Key(), it.Value())
		}
	}
	b.End()
	return b.Bytes()
}

// fixTimestamps replaces Timestamp(0, 0) in top-level fields other than _id by the next cluster
// time. It returns doc itself if nothing changes, or if timestamp is nil.
func fixTimestamps(doc bsonx.Doc, timestamp func() (t, i uint32)) bsonx.Doc {
	fix := false
	for it := doc.Iter(); timestamp != nil && it.Next() && !fix; {
		fix = isZeroTimestamp(it.Key(), it.Value())
	}
	if !fix {
		return doc
	}
	b := bsonx.NewBuilder(make([]byte, 0, len(doc)))
	b.StartDoc()
	for it := doc.Iter(); it.Next(); {
		v := it.Value()
		if isZeroTimestamp(it.Key(), v) {
			v = bsonx.Timestamp(timestamp())
		}
		b.ValueBytes(it.Key(), v)
	}
	b.End()
	return b.Bytes()
}

func isZeroTimestamp(key []byte, v bsonx.Value) bool {
	return v.Type == bsonx.TypeTimestamp && v.Int64() == 0 && string(key) != "_id"
}
