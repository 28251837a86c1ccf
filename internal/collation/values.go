package collation

import (
	"bytes"
	"cmp"
	"encoding/hex"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// CompareValues is bsonx.CompareValues with strings, also those in documents and arrays, compared by the collation. Names of
// fields are compared as bytes.
func (c *Collator) CompareValues(a, b bsonx.Value) int {
	if c == nil {
		return bsonx.CompareValues(a, b)
	}
	ca, cb := a.Type.Class(), b.Type.Class()
	if ca != cb {
		return cmp.Compare(ca, cb)
	}
	switch ca {
	case bsonx.ClassString:
		return c.Compare(a.StrBytes(), b.StrBytes())
	case bsonx.ClassDocument, bsonx.ClassArray:
		return c.compareFields(a.Doc(), b.Doc(), ca == bsonx.ClassDocument)
	default:
		return bsonx.CompareValues(a, b)
	}
}

func (c *Collator) compareFields(a, b bsonx.Doc, names bool) int {
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
		if x := c.CompareValues(va, vb); x != 0 {
			return x
		}
	}
}

// Concerns reports whether a collation may change how a value compares: a string, or what may hold one.
func Concerns(v bsonx.Value) bool {
	switch v.Type {
	case bsonx.TypeString, bsonx.TypeSymbol, bsonx.TypeDocument, bsonx.TypeArray:
		return true
	default:
		return false
	}
}

// Fold returns a value with every string replaced by its key, so that folded values compare, without the collation, as the
// values do with it. Under a nil Collator that is the value itself.
func (c *Collator) Fold(v bsonx.Value) bsonx.Value {
	if c == nil {
		return v
	}
	return c.fold(v)
}

func (c *Collator) fold(v bsonx.Value) bsonx.Value {
	if !Concerns(v) {
		return v
	}
	b := bsonx.NewBuilder(nil)
	switch v.Type {
	case bsonx.TypeDocument:
		b.StartDoc()
		c.foldFields(b, v.Doc())
		b.End()
		return bsonx.Document(b.Bytes())
	case bsonx.TypeArray:
		b.StartArray()
		c.foldElements(b, v.Doc())
		b.End()
		return bsonx.Array(b.Bytes())
	default:
		return bsonx.String(string(c.AppendKey(nil, v.StrBytes())))
	}
}

func (c *Collator) foldFields(b *bsonx.Builder, doc bsonx.Doc) {
	for it := doc.Iter(); it.Next(); {
		name := string(it.Key())
		switch v := it.Value(); v.Type {
		case bsonx.TypeDocument:
			b.StartDocField(name)
			c.foldFields(b, v.Doc())
			b.End()
		case bsonx.TypeArray:
			b.StartArrayField(name)
			c.foldElements(b, v.Doc())
			b.End()
		default:
			b.Value(name, c.Fold(v))
		}
	}
}

func (c *Collator) foldElements(b *bsonx.Builder, array bsonx.Doc) {
	for it := array.Iter(); it.Next(); {
		switch v := it.Value(); v.Type {
		case bsonx.TypeDocument:
			b.StartDocElem()
			c.foldFields(b, v.Doc())
			b.End()
		case bsonx.TypeArray:
			b.StartArrayElem()
			c.foldElements(b, v.Doc())
			b.End()
		default:
			b.Elem(c.Fold(v))
		}
	}
}

const displayPrefix = "CollationKey(0x"

// Display returns a folded value as MongoDB shows it: with every key in hexadecimal digits.
func Display(folded bsonx.Value) bsonx.Value {
	switch folded.Type {
	case bsonx.TypeString:
		if len(folded.StrBytes()) == 0 {
			return folded // the least string, not a key
		}
		return bsonx.String(displayPrefix + hex.EncodeToString(folded.StrBytes()) + ")")
	case bsonx.TypeDocument:
		b := bsonx.NewBuilder(nil)
		b.StartDoc()
		for it := folded.Doc().Iter(); it.Next(); {
			b.ValueBytes(it.Key(), Display(it.Value()))
		}
		b.End()
		return bsonx.Document(b.Bytes())
	case bsonx.TypeArray:
		b := bsonx.NewBuilder(nil)
		b.StartArray()
		for it := folded.Doc().Iter(); it.Next(); {
			b.Elem(Display(it.Value()))
		}
		b.End()
		return bsonx.Array(b.Bytes())
	default:
		return folded
	}
}

// IsDisplayed reports whether a string is a key as Display writes it.
func IsDisplayed(s []byte) bool { return bytes.HasPrefix(s, []byte(displayPrefix)) }

// Displayed returns a value as it is shown where it stands in an index with the collation.
func (c *Collator) Displayed(v bsonx.Value) bsonx.Value {
	if c == nil {
		return v
	}
	return Display(c.Fold(v))
}
