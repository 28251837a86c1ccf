package command

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
)

// ClusteredIndexSpec returns the specification that listIndexes shows for the clustered index of a
// collection with these options. It returns nil if the collection has no clustered index.
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

// IDIndexOf returns the specification of the _id index of a collection with these options, or nil
// if the collection has no _id index.
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

// OriginalSpec is a field in the specification of an index on buckets. It holds the specification
// of the index on measurements, which the user gave.
const OriginalSpec = "originalSpec"

// ClusteredOption returns the option clusteredIndex if it is a document, otherwise nil.
func ClusteredOption(options bsonx.Doc) bsonx.Doc {
	if v := options.Lookup("clusteredIndex"); v.Type == bsonx.TypeDocument {
		return v.Doc()
	}
	return nil
}

// IDIndexSpec and OldIDIndexSpec are the specifications that listIndexes shows for an _id index of
// version 2 and of version 1.
var (
	IDIndexSpec    = bsonx.NewDoc("v", 2, "key", bsonx.NewDoc("_id", 1), "name", idIndexName)
	OldIDIndexSpec = bsonx.NewDoc("v", 1, "key", bsonx.NewDoc("_id", 1), "name", idIndexName)
)

const idIndexName = "_id_"
