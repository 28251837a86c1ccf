package bsonx

import (
	"bytes"
	"cmp"
	"math"
)

// CompareValues compares two values in MongoDB's sort order: first by type class, then by value.
// Numbers of the four types are compared exactly; NaN comes first, and -0 equals 0. A missing value
// equals null.
func CompareValues(a, b Value) int {
	if a.Type == b.Type {
		switch a.Type { // the most frequent types first
		case TypeInt32:
			return cmp.Compare(a.Int32(), b.Int32())
		case TypeInt64, TypeDate:
			return cmp.Compare(a.Int64(), b.Int64())
		case TypeDouble:
			return compareDoubles(a.Double(), b.Double())
		case TypeString:
			return bytes.Compare(a.StrBytes(), b.StrBytes())
		default: // handled below
		}
	}
	ca, cb := a.Type.Class(), b.Type.Class()
	if ca != cb {
		return cmp.Compare(ca, cb)
	}
	switch ca {
	case ClassNumber:
		return compareNumbers(a, b)
	case ClassString:
		return bytes.Compare(a.StrBytes(), b.StrBytes())
	case ClassDocument:
		return CompareDocs(a.Doc(), b.Doc())
	case ClassArray:
		return compareArrays(a.Doc(), b.Doc())
	case ClassBinary:
		return compareBinary(a, b)
	case ClassBool:
		return cmp.Compare(a.Data[0], b.Data[0])
	case ClassObjectID, ClassRegex:
		return bytes.Compare(a.Data, b.Data)
	case ClassDate:
		return cmp.Compare(a.Int64(), b.Int64())
	case ClassTimestamp:
		return cmp.Compare(uint64(a.Int64()), uint64(b.Int64()))
	case ClassDBPointer:
		return compareDBPointers(a, b)
	case ClassCode:
		return bytes.Compare(a.StrBytes(), b.StrBytes())
	case ClassCodeWScope:
		return compareCodeWithScope(a, b)
	default:
		return 0
	}
}

// CompareDocs orders two documents field by field: by type class, then name, then value; a document
// that ends first comes first.
func CompareDocs(a, b Doc) int {
	if bytes.Equal(a, b) {
		return 0
	}
	ia, ib := a.Iter(), b.Iter()
	for {
		na, nb := ia.Next(), ib.Next()
		if !na || !nb {
			return compareBool(na, nb)
		}
		va, vb := ia.Value(), ib.Value()
		if c := cmp.Compare(va.Type.Class(), vb.Type.Class()); c != 0 {
			return c
		}
		if c := bytes.Compare(ia.Key(), ib.Key()); c != 0 {
			return c
		}
		if c := CompareValues(va, vb); c != 0 {
			return c
		}
	}
}

func compareArrays(a, b Doc) int {
	ia, ib := a.Iter(), b.Iter()
	for {
		na, nb := ia.Next(), ib.Next()
		if !na || !nb {
			return compareBool(na, nb)
		}
		if c := CompareValues(ia.Value(), ib.Value()); c != 0 {
			return c
		}
	}
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

func compareBinary(a, b Value) int {
	sa, da := a.Binary()
	sb, db := b.Binary()
	if c := cmp.Compare(len(da), len(db)); c != 0 {
		return c
	}
	if c := cmp.Compare(sa, sb); c != 0 {
		return c
	}
	return bytes.Compare(da, db)
}

func compareDBPointers(a, b Value) int {
	if c := cmp.Compare(len(a.Data), len(b.Data)); c != 0 {
		return c
	}
	return bytes.Compare(a.Data, b.Data)
}

func compareCodeWithScope(a, b Value) int {
	ca, sa := a.CodeWithScope()
	cb, sb := b.CodeWithScope()
	if c := cmp.Compare(ca, cb); c != 0 {
		return c
	}
	return CompareDocs(sa, sb)
}

func compareNumbers(a, b Value) int {
	if ia, ok := a.integer(); ok {
		if ib, ok := b.integer(); ok {
			return cmp.Compare(ia, ib)
		}
	}
	if a.Type == TypeDecimal128 || b.Type == TypeDecimal128 {
		return compareDecimal(a, b)
	}
	if a.Type == TypeDouble && b.Type == TypeDouble {
		return compareDoubles(a.Double(), b.Double())
	}
	if a.Type == TypeDouble {
		ib, _ := b.integer()
		return -compareInt64Double(ib, a.Double())
	}
	ia, _ := a.integer()
	return compareInt64Double(ia, b.Double())
}

// integer returns the value of an int32 or int64.
func (v Value) integer() (int64, bool) {
	switch v.Type {
	case TypeInt32:
		return int64(v.Int32()), true
	case TypeInt64:
		return v.Int64(), true
	default:
		return 0, false
	}
}

func compareDoubles(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case a == b:
		return 0
	default:
		return compareBool(!math.IsNaN(a), !math.IsNaN(b))
	}
}

// compareInt64Double compares exactly. Converting i to a double could round.
func compareInt64Double(i int64, f float64) int {
	switch {
	case math.IsNaN(f):
		return 1
	case f >= 1<<63:
		return -1
	case f < -1<<63:
		return 1
	}
	whole := math.Trunc(f)
	if c := cmp.Compare(i, int64(whole)); c != 0 {
		return c
	}
	return -cmp.Compare(f, whole)
}
