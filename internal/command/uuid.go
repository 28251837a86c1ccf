package command

import (
	"encoding/hex"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/table"
)

// CollectionUUID is the argument with the UUID that the named collection must have. It is checked
// before the command runs, and at each later look-up of the name; see read.Meaning.
var CollectionUUID = Field{Name: "collectionUUID", Type: BinData, Check: isUUID}

func isUUID(name string, v bsonx.Value) error {
	if _, ok := UUIDOf(v); ok {
		return nil
	}
	subtype, _ := v.Binary()
	return mongoerr.New(mongoerr.TypeMismatch, "BSON field '%s' is the wrong binData type '%s', expected type 'UUID'", name, binaryName(subtype))
}

// UUIDOf returns a binary value of subtype UUID as an array. ok is false for any other value.
func UUIDOf(v bsonx.Value) (id [16]byte, ok bool) {
	if v.Type != bsonx.TypeBinary {
		return id, false
	}
	subtype, data := v.Binary()
	if subtype != bsonx.UUIDSubtype || len(data) != len(id) {
		return id, false
	}
	return [16]byte(data), true
}

func formatUUID(id [16]byte) string {
	s := hex.EncodeToString(id[:])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

// collectionByUUID returns the name of the collection with the UUID v, for a command that has a
// UUID in place of a name.
func (r *Request) collectionByUUID(v bsonx.Value) (string, error) {
	id, ok := UUIDOf(v)
	switch {
	case !ok:
		return "", mongoerr.New(mongoerr.InvalidNamespace, "Collection name has invalid type %s", v.Type)
	case r.Explained && r.Def.NoUUIDInExplain:
		return "", mongoerr.New(mongoerr.InvalidNamespace, "Providing collection UUID for explain is forbidden")
	case !r.Def.ByUUID || r.Explained:
		return "", mongoerr.New(mongoerr.InvalidNamespace, "Collection name must be provided. UUID is not valid in this context")
	case r.Has(CollectionUUID.Name):
		return "", mongoerr.New(mongoerr.InvalidOptions, "When using the find command by UUID, the collectionUUID parameter cannot also be specified")
	}
	e := r.Service.Store.Catalog().ByUUID(id)
	switch {
	case e == nil:
		return "", mongoerr.New(mongoerr.NamespaceNotFound, "Unable to resolve %s", formatUUID(id))
	case e.DB != r.DB:
		return "", mongoerr.New(mongoerr.NamespaceNotFound,
			"UUID: %s specified in provided db name: %s resolved to a collection in a different database, resolved nss: %s", formatUUID(id), r.DB, e.Namespace())
	}
	return e.Name, nil
}

// CheckUUID returns an error if the request's collectionUUID is not the UUID of the collection with
// this name.
func CheckUUID(r *Request, name string) error {
	v := r.Get(CollectionUUID.Name)
	if v.IsMissing() || r.Def.Loose || r.Explained && r.Def.NoUUIDInExplain {
		return nil
	}
	return BindUUID(r, r.DB, name, v)
}

// BindUUID binds the request to the collection with this UUID. It returns an error if db.name is
// not that collection.
func BindUUID(r *Request, db, name string, uuid bsonx.Value) error {
	id, _ := UUIDOf(uuid)
	r.Meant = &read.Meaning{DB: db, Name: name, ID: id}
	c, err := viewOf(r).Lookup(db, name)
	if err != nil {
		return err
	}
	return CheckMeant(r, db, name, c)
}

// CheckMeant returns an error if c, the result of a look-up of db.name, is not the collection to
// which the request is bound.
func CheckMeant(r *Request, db, name string, c *table.Collection) error {
	if r.Meant.Of(db, name, c) {
		return nil
	}
	return r.Meant.Mismatch(r.Service.Store)
}
