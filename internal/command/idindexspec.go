package command

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/read"
)

// ClusteredIndexSpec returns the specification that listIndexes shows for the clustered index
// of a collection. It is nil for a collection without clusteredIndex.
func ClusteredIndexSpec(options bsonx.Doc) bsonx.Doc {
	spec := ClusteredOption(options)
	if spec == nil {
		return nil
	}
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.Int32("v", 2)
	b.Value("key", spec.Lookup("key"))
	b.Value("name", spec.Lookup("name"))
	b.Bool("unique", true)
	if v := options.Lookup("expireAfterSeconds"); !v.IsMissing() {
		b.Int32("expireAfterSeconds", int32(bsonx.SaturatingInt64(v)))
	}
	b.Bool("clustered", true)
	b.End()
	return b.Bytes()
}

// IDIndexOf returns the specification of the index on _id of a collection with these options,
// or nil if it has none.
func IDIndexOf(options bsonx.Doc) bsonx.Doc {
	if v := options.Lookup("autoIndexId"); v.Type == bsonx.TypeBool && !v.Bool() {
		return nil
	}
	spec := IDIndexSpec
	if v := options.Lookup("idIndex"); v.Type == bsonx.TypeDocument {
		spec = v.Doc()
	}
	if v := options.Lookup("collation"); v.Type == bsonx.TypeDocument {
		spec = spec.With("collation", v)
	}
	return spec
}

// CreateCollation returns the collation of create with its defaults, or missing if there is none.
func CreateCollation(req *Request) (bsonx.Value, error) {
	v := req.Get("collation")
	if v.Type != bsonx.TypeDocument {
		return bsonx.Missing, nil
	}
	spec, err := collation.Complete(v.Doc(), "create.collation")
	return bsonx.Document(spec), err
}

// OriginalSpec is the field of an index specification with the keys that a user gave for a time
// series.
const OriginalSpec = "originalSpec"

// ClusteredOption returns the clusteredIndex option of a collection, or nil.
func ClusteredOption(options bsonx.Doc) bsonx.Doc {
	if v := options.Lookup("clusteredIndex"); v.Type == bsonx.TypeDocument {
		return v.Doc()
	}
	return nil
}

// idIndexSpec is how listIndexes shows the index on _id, oldIDIndexSpec one of version 1.
var (
	IDIndexSpec    = bsonx.NewDoc("v", 2, "key", bsonx.NewDoc("_id", 1), "name", idIndexName)
	OldIDIndexSpec = bsonx.NewDoc("v", 1, "key", bsonx.NewDoc("_id", 1), "name", idIndexName)
)

const idIndexName = "_id_"

// StoredCollation is read.NormalizedCollation for the collation of create.
func StoredCollation(req *Request) (bsonx.Value, error) {
	v, err := CreateCollation(req)
	if err != nil {
		return bsonx.Missing, err
	}
	return read.NormalizedCollation(v)
}
