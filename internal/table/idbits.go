package table

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/keystring"
)

// idBits makes the values of a record's index entries: the type bits of the fields, joined with
// those of _id, so that the entry alone gives back both exactly.
type idBits struct {
	bits  keystring.TypeBits
	key   []byte
	value []byte
}

func (b *idBits) set(id bsonx.Value) {
	b.bits.Reset()
	b.key = keystring.AppendTyped(b.key[:0], &b.bits, id, false)
}

// setID prepares the values of the index entries of doc. In a capped collection the record is known
// by its sequence, which has one type. It fails where the operation ends.
func (c *Collection) setID(b *idBits, doc bsonx.Doc, r *interrupt.Running) error {
	if c.Capped != nil {
		b.bits.Reset()
		return nil
	}
	return c.setIDValue(b, doc.Lookup("_id"), r)
}

func (c *Collection) setIDValue(b *idBits, id bsonx.Value, r *interrupt.Running) error {
	if c.Collation != nil && (id.Type == bsonx.TypeString || id.Type == bsonx.TypeSymbol) {
		b.set(bsonx.String("")) // whatever the key of a string is, its type is the same
		return nil
	}
	id, err := c.Collation.Fold(id, r)
	if err == nil {
		b.set(id)
	}
	return err
}

// join returns the value of an entry; it is good until the next call.
func (b *idBits) join(fields []byte) []byte {
	b.value = keystring.JoinTypeBits(b.value[:0], fields, b.bits.Bytes())
	return b.value
}
