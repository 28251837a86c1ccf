package expr

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/index"
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

// MetaKind is a kind of metadata of documents, which {$meta: <name>} reads.
type MetaKind struct {
	Name string
	// StableAPI tells whether the Stable API includes the kind. It has no default.
	StableAPI feature.Answer
	// Planned reports whether only the plan of a query knows the metadata.
	Planned bool
	// From is the search that the documents must come from. Without it, a use of the kind is an
	// error.
	From Search
	// SortPath is the path that stands for the kind in a sort pattern. It is empty if documents
	// cannot be sorted by it.
	SortPath string

	shown string // the name in the error for documents without the metadata, if From is set
	read  func(*Meta) bsonx.Value
}

// Search is the kind of search that metadata of documents comes from.
type Search byte

// Values of Search.
const (
	AnySearch   Search = iota // none is needed: documents without the metadata read it as missing
	TextSearch                // $text
	NearSearch                // $geoNear, $near or $nearSphere
	AtlasSearch               // $search and $vectorSearch, which only Atlas has
)

// never is the read function of the kinds that documents never have here: details of Atlas Search
// and of time-series buckets.
func never(*Meta) bsonx.Value { return bsonx.Missing }

// metaKinds is the table of the kinds of metadata. It is never changed.
var metaKinds = []MetaKind{
	{
		Name: "textScore", StableAPI: feature.No, Planned: true, From: TextSearch, shown: "text score",
		SortPath: index.ScorePath,
		read:     func(m *Meta) bsonx.Value { return m.TextScore },
	},
	{
		Name: "geoNearDistance", StableAPI: feature.Yes, From: NearSearch, shown: "$geoNear distance",
		SortPath: index.DistancePath,
		read:     func(m *Meta) bsonx.Value { return m.GeoDistance },
	},
	{
		Name: "geoNearPoint", StableAPI: feature.Yes, From: NearSearch, shown: "$geoNear point",
		read: func(m *Meta) bsonx.Value { return m.GeoPoint },
	},
	{
		Name: "searchScore", StableAPI: feature.No, From: AtlasSearch, shown: "$search score",
		read: func(m *Meta) bsonx.Value { return m.SearchScore },
	},
	{
		Name: "vectorSearchScore", StableAPI: feature.Yes, From: AtlasSearch, shown: "$vectorSearch score",
		read: func(m *Meta) bsonx.Value { return m.VectorScore },
	},
	{Name: "sortKey", StableAPI: feature.Yes, Planned: true, read: func(m *Meta) bsonx.Value { return m.SortKey }},
	{Name: "recordId", StableAPI: feature.Yes, Planned: true, read: func(m *Meta) bsonx.Value { return m.RecordID }},
	{Name: "indexKey", StableAPI: feature.No, Planned: true, read: func(m *Meta) bsonx.Value { return m.IndexKey }},
	{
		Name: "randVal", StableAPI: feature.Yes, SortPath: index.RandomPath,
		read: func(m *Meta) bsonx.Value { return m.RandVal },
	},
	{Name: "searchHighlights", StableAPI: feature.No, read: func(m *Meta) bsonx.Value { return m.SearchHighs }},
	{Name: "searchScoreDetails", StableAPI: feature.No, read: never},
	{Name: "searchSequenceToken", StableAPI: feature.No, read: never},
	{Name: "timeseriesBucketMinTime", StableAPI: feature.Yes, read: never},
	{Name: "timeseriesBucketMaxTime", StableAPI: feature.Yes, read: never},
}

// MetaKinds returns the kinds of metadata. The caller must not change them.
func MetaKinds() []MetaKind { return metaKinds }

// Metadata returns the kind of metadata with that name. It returns the zero MetaKind, which needs
// no search, for an unknown name.
func Metadata(name string) MetaKind {
	for i := range metaKinds {
		if metaKinds[i].Name == name {
			return metaKinds[i]
		}
	}
	return MetaKind{}
}

// NoMeta returns the error for a $meta, or a sort by metadata, of a kind that the documents do not
// have. It returns nil for the kinds that $meta reads as missing.
func NoMeta(kind string) error {
	if k := Metadata(kind); k.From != AnySearch {
		return mongoerr.New(40218, "query requires %s metadata, but it is not available", k.shown)
	}
	return nil
}

func parseMeta(_ *Parser, _ *Definition, arg bsonx.Value, vars *Vars) (Expr, error) {
	if arg.Type != bsonx.TypeString {
		return nil, mongoerr.New(17307, "$meta only supports string arguments")
	}
	kind := Metadata(arg.Str())
	if kind.read == nil {
		return nil, mongoerr.New(17308, "Unsupported $meta field: %s", arg.Str())
	}
	return &metaExpr{kind.Name, kind.read}, vars.CheckMeta(kind.Name)
}
