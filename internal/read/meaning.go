package read

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/table"
)

// Meaning is the collection that a client means by a name and the argument collectionUUID. Another
// collection may get the name while the command runs, so each look-up of the name is checked.
type Meaning struct {
	DB, Name string
	ID       [16]byte
}

// Of reports whether c, the result of a look-up of db.name, is the collection that is meant. A nil
// m accepts every collection.
func (m *Meaning) Of(db, name string, c *table.Collection) bool {
	return m == nil || m.DB != db || m.Name != name || c != nil && c.Kind == catalog.KindCollection && c.UUID == m.ID
}

// Mismatch returns the error for a name that does not belong to the collection that is meant. The
// error has the collection's actual name, if it exists in the database.
func (m *Meaning) Mismatch(store *table.Store) error {
	actual := bsonx.Null
	if e := store.Catalog().ByUUID(m.ID); e != nil && e.DB == m.DB {
		actual = bsonx.String(e.Name)
	}
	info := bsonx.NewDoc("db", m.DB, "collectionUUID", bsonx.Binary(bsonx.UUIDSubtype, m.ID[:]), "expectedCollection",
		m.Name, "actualCollection", actual)
	return mongoerr.New(mongoerr.CollectionUUIDMismatch, "Collection UUID does not match that specified").WithInfo(info)
}
