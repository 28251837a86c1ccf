package command

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
)

// clusteredIndexSpec is how listIndexes shows the index of a collection that was created with clusteredIndex, nil for others.
func clusteredIndexSpec(options bsonx.Doc) bsonx.Doc {
	spec := clusteredOption(options)
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
		b.Int32("expireAfterSeconds", int32(saturatingInt64(v)))
	}
	b.Bool("clustered", true)
	b.End()
	return b.Bytes()
}

// idIndexOf returns the specification of the index on _id of a collection with those options; nil where it has none.
func idIndexOf(options bsonx.Doc) bsonx.Doc {
	if v := options.Lookup("autoIndexId"); v.Type == bsonx.TypeBool && !v.Bool() {
		return nil
	}
	spec := idIndexSpec
	if v := options.Lookup("idIndex"); v.Type == bsonx.TypeDocument {
		spec = v.Doc()
	}
	if v := options.Lookup("collation"); v.Type == bsonx.TypeDocument {
		spec = spec.With("collation", v)
	}
	return spec
}

// createCollation returns the collation of create with its defaults, missing where there is none.
func createCollation(req *Request) (bsonx.Value, error) {
	v := req.Get("collation")
	if v.Type != bsonx.TypeDocument {
		return bsonx.Missing, nil
	}
	spec, err := collation.Complete(v.Doc(), "create.collation")
	return bsonx.Document(spec), err
}

const originalSpec = "originalSpec"

// clusteredOption returns the clusteredIndex option of a collection, or nil.
func clusteredOption(options bsonx.Doc) bsonx.Doc {
	if v := options.Lookup("clusteredIndex"); v.Type == bsonx.TypeDocument {
		return v.Doc()
	}
	return nil
}

// idIndexSpec is how listIndexes shows the index on _id, oldIDIndexSpec one of version 1.
var (
	idIndexSpec    = bsonx.NewDoc("v", 2, "key", bsonx.NewDoc("_id", 1), "name", idIndexName)
	oldIDIndexSpec = bsonx.NewDoc("v", 1, "key", bsonx.NewDoc("_id", 1), "name", idIndexName)
)

const idIndexName = "_id_"
