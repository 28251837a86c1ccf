package expr

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// metaDefinition defines $meta. The Stable API includes it, but not all kinds of metadata; see
// CheckMeta.
func metaDefinition() Definition {
	return Definition{
		Name: "$meta", Family: "miscellaneous", Parse: parseMeta, Form: writtenForm,
		Total: feature.No, Folds: feature.No, Depends: OnMetadata, StableAPI: feature.Yes,
	}
}

// metaExpr is $meta. Its value is missing if the document has no such metadata. The compilers of
// commands reject kinds that their documents never have.
type metaExpr struct {
	name string
	read func(*Meta) bsonx.Value
}

func (m *metaExpr) Eval(ctx *Context) (bsonx.Value, error) {
	if ctx.Meta == nil {
		return bsonx.Missing, nil
	}
	return m.read(ctx.Meta), nil
}

func (m *metaExpr) Children() []Expr { return nil }

// NoMeta returns the error for a $meta, or a sort by metadata, of a kind that the documents do not
// have. It returns nil for the kinds that $meta reads as missing.
func NoMeta(kind string) error {
	var words string
	switch kind {
	case "textScore":
		words = "text score"
	case "geoNearDistance":
		words = "$geoNear distance"
	case "geoNearPoint":
		words = "$geoNear point"
	case "searchScore":
		words = "$search score"
	case "vectorSearchScore":
		words = "$vectorSearch score"
	default:
		return nil
	}
	return mongoerr.New(40218, "query requires %s metadata, but it is not available", words)
}

// metaFields returns functions that read metadata, by the kind's name in $meta.
func metaFields() map[string]func(*Meta) bsonx.Value {
	// never is for kinds of metadata that documents never have here: details of Atlas Search and of
	// time-series buckets.
	never := func(*Meta) bsonx.Value { return bsonx.Missing }
	return map[string]func(*Meta) bsonx.Value{
		"textScore":         func(m *Meta) bsonx.Value { return m.TextScore },
		"sortKey":           func(m *Meta) bsonx.Value { return m.SortKey },
		"recordId":          func(m *Meta) bsonx.Value { return m.RecordID },
		"indexKey":          func(m *Meta) bsonx.Value { return m.IndexKey },
		"randVal":           func(m *Meta) bsonx.Value { return m.RandVal },
		"geoNearDistance":   func(m *Meta) bsonx.Value { return m.GeoDistance },
		"geoNearPoint":      func(m *Meta) bsonx.Value { return m.GeoPoint },
		"searchScore":       func(m *Meta) bsonx.Value { return m.SearchScore },
		"searchHighlights":  func(m *Meta) bsonx.Value { return m.SearchHighs },
		"vectorSearchScore": func(m *Meta) bsonx.Value { return m.VectorScore },

		"searchScoreDetails": never, "searchSequenceToken": never,
		"timeseriesBucketMinTime": never, "timeseriesBucketMaxTime": never,
	}
}

// unstableMeta is the set of metadata kinds that the Stable API does not include.
var unstableMeta = map[string]bool{
	"textScore": true, "indexKey": true, "searchScore": true, "searchHighlights": true,
	"searchScoreDetails": true, "searchSequenceToken": true,
}

func parseMeta(_ *Parser, _ *Definition, arg bsonx.Value, vars *Vars) (Expr, error) {
	if arg.Type != bsonx.TypeString {
		return nil, mongoerr.New(17307, "$meta only supports string arguments")
	}
	read, ok := metaFields()[arg.Str()]
	if !ok {
		return nil, mongoerr.New(17308, "Unsupported $meta field: %s", arg.Str())
	}
	return &metaExpr{arg.Str(), read}, vars.CheckMeta(arg.Str())
}
