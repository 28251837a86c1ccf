package filter

import (
	"bytes"
	"cmp"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// compareCollated is bsonx.CompareValues with strings, also those in documents and arrays, compared by a collation.
// Field names are compared as bytes.
func compareCollated(a, b bsonx.Value, c Collator) int {
	ca, cb := a.Type.Class(), b.Type.Class()
	if ca != cb {
		return cmp.Compare(ca, cb)
	}
	switch ca {
	case bsonx.ClassString:
		return c.Compare(a.StrBytes(), b.StrBytes())
	case bsonx.ClassDocument, bsonx.ClassArray:
		return compareFieldsCollated(a.Doc(), b.Doc(), ca == bsonx.ClassDocument, c)
	default:
		return bsonx.CompareValues(a, b)
	}
}

func compareFieldsCollated(a, b bsonx.Doc, names bool, c Collator) int {
	ia, ib := a.Iter(), b.Iter()
	for {
		na, nb := ia.Next(), ib.Next()
		switch {
		case !na && !nb:
			return 0
		case !na:
			return -1
		case !nb:
			return 1
		}
		va, vb := ia.Value(), ib.Value()
		if x := cmp.Compare(va.Type.Class(), vb.Type.Class()); x != 0 {
			return x
		}
		if names {
			if x := bytes.Compare(ia.Key(), ib.Key()); x != 0 {
				return x
			}
		}
		if x := compareCollated(va, vb, c); x != 0 {
			return x
		}
	}
}
