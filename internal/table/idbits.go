package table

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/keystring"
)

// idBits builds the values of a record's index entries. A value joins the type bits of the fields
// with the type bits of the _id, so that both can be decoded exactly from the entry alone.
type idBits struct {
	bits  keystring.TypeBits
	key   []byte
	value []byte
}

func (b *idBits) set(id bsonx.Value) {
	b.bits.Reset()
	b.key = keystring.AppendTyped(b.key[:0], &b.bits, id, false)
}

// setID prepares the values of the index entries of doc. In a capped collection the record id is
// the sequence, which always has the same type and needs no bits. setID fails if the operation has
// ended.
func (c *Collection) setID(b *idBits, doc bsonx.Doc, r *interrupt.Running) error {
	if c.Capped != nil {
		b.bits.Reset()
		return nil
	}
	return c.setIDValue(b, doc.Lookup("_id"), r)
}

func (c *Collection) setIDValue(b *idBits, id bsonx.Value, r *interrupt.Running) error {
	if c.Collation != nil && (id.Type == bsonx.TypeString || id.Type == bsonx.TypeSymbol) {
		b.set(bsonx.String("")) // the key of any string has the same type bits
		return nil
	}
	id, err := c.Collation.Fold(id, r)
	if err == nil {
		b.set(id)
	}
	return err
}

// join returns the value of an entry with the type bits of its fields. It is valid until the next
// call.
func (b *idBits) join(fields []byte) []byte {
	b.value = keystring.JoinTypeBits(b.value[:0], fields, b.bits.Bytes())
	return b.value
}
