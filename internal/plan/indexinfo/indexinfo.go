package indexinfo

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/geo"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/describe"
	"github.com/sheafdb/sheaf/internal/table"
)

// Index describes an index, including the implicit _id index, at the time of planning.
type Index struct {
	Stored  *table.Index // nil for an _id index without entries: the records are clustered by _id
	Name    string
	Key     bsonx.Doc
	Kind    index.Kind
	Fields  index.Pattern
	multi   index.MultikeyPaths // multikey paths at the time of planning
	array   bool                // a field was an array in some document
	Unique  bool
	Sparse  bool
	Partial filter.Node // nil means all documents
	// IsPartial is also true if the partial filter could not be read. Such an index is used only if
	// it is hinted.
	IsPartial bool
	// Clustered is true for the index of a collection that was created with a clusteredIndex.
	Clustered bool
	// Wild is nil unless the index is a wildcard index.
	Wild *Wildcard
	// Collation is the collation of the keys; nil if the keys hold strings unchanged.
	Collation *collation.Collator
}

const idIndexName = "_id_"

// indexesOf returns the indexes that a query may use: the _id index, and then the others in catalog
// order.
func indexesOf(c *table.Collection) []*Index {
	out := []*Index{OfID(c)}
	for _, ix := range c.Indexes {
		if ix.Ready && !ix.Hidden {
			out = append(out, infoOf(ix))
		}
	}
	return out
}

// OfID returns the _id index of a collection. For the oplog it returns the index on ts.
func OfID(c *table.Collection) *Index {
	if c.IDIndex != nil {
		return infoOf(c.IDIndex)
	}
	if c.Oplog {
		return &Index{Name: "ts", Key: oplogKey, Fields: oplogPattern, Unique: true, Clustered: true}
	}
	info := &Index{Name: idIndexName, Key: idKey, Fields: idPattern, Unique: true, Collation: c.Collation}
	if v := c.Options.Lookup("clusteredIndex"); v.Type == bsonx.TypeDocument || c.Timeseries != nil {
		info.Clustered = true
		if name := v.Doc().Lookup("name"); v.Type == bsonx.TypeDocument && name.Type == bsonx.TypeString {
			info.Name = name.Str()
		}
	}
	return info
}

var (
	idKey     = bsonx.NewDoc("_id", 1)
	idPattern = index.Pattern{{Path: "_id"}}

	// The oplog is clustered by the field ts.
	oplogKey     = bsonx.NewDoc("ts", 1)
	oplogPattern = index.Pattern{{Path: "ts"}}
)

func infoOf(ix *table.Index) *Index {
	info := &Index{
		Stored: ix, Name: ix.Name, Key: ix.Key, Kind: ix.Kind(), Fields: ix.Pattern, multi: ix.Multikey(),
		Unique: ix.Unique, Sparse: ix.Sparse, IsPartial: ix.PartialFilter != nil, Collation: ix.Collation,
	}
	info.array = info.multi.IsMultikey()
	if f, ok := ix.Partial.(*filter.Filter); ok {
		info.Partial = f.Normalize().Root
	}
	if info.Kind == index.Wildcard {
		info.Wild = wildcardOf(info)
	}
	return info
}

// Bits returns which components of a field's path were arrays: bit k is set if component k was.
func (x *Index) Bits(field int) uint64 {
	if field < len(x.multi) {
		return x.multi[field]
	}
	return 0
}

// IsMultikey reports whether a field was an array in some document.
func (x *Index) IsMultikey() bool { return x.array }

// FieldOf returns the position of the field that holds the values at a path, or -1.
func (x *Index) FieldOf(path string) int {
	for i, f := range x.Fields {
		if f.Holds(path) {
			return i
		}
	}
	return -1
}

// describe describes an index as MongoDB's error messages do.
func (x *Index) describe() string {
	out := "kp: " + describe.Shell(x.Key)
	for _, flag := range []struct {
		name string
		set  bool
	}{{"multikey", x.IsMultikey()}, {"sparse", x.Sparse}, {"unique", x.Unique}} {
		if flag.set {
			out += " " + flag.name
		}
	}
	out += " name: '(" + x.Name + ", )'"
	if x.Partial != nil {
		out += " filterExpr: " + describe.Filter(x.Partial)
	}
	if x.Stored != nil {
		out += " io: " + describe.Shell(x.Stored.Spec)
	}
	return out
}

// IsGeo reports whether an index field holds geo cells.
func IsGeo(f index.Field) bool { return f.Kind.IsGeo() }

// IsGeo reports whether the index is a geo index, which holds only documents that have a geometry.
func (x *Index) IsGeo() bool { return x.Kind.IsGeo() }

// JoinsValues reports whether a field holds one array if there are several values at its path.
func (x *Index) JoinsValues() bool { return x.Kind.Definition().JoinsValues == feature.Yes }

// Used counts a use of the index for $indexStats.
func (x *Index) Used(c *table.Collection) {
	if x.Stored == nil || x.Stored == c.IDIndex {
		c.IDUses().Add()
		return
	}
	x.Stored.Uses().Add()
}

// Cells returns the index values of an interval of geo cells.
func (x *Index) Cells(iv geo.Interval) bounds.Interval {
	return bounds.Interval{Low: x.cell(iv.Low), High: x.cell(iv.High), LowIncl: true, HighIncl: true}
}

func (x *Index) cell(cell uint64) bsonx.Value {
	if x.Kind == index.Sphere {
		return bsonx.Int64(int64(cell))
	}
	return index.PlaneValue(cell)
}
