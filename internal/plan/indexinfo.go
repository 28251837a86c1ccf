package plan

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/table"
)

// indexInfo is an index as the planner sees it: with the multikey paths of the moment of planning. The implicit _id
// index is one of them.
type indexInfo struct {
	ix      *table.Index // nil for an _id index without entries of its own: records are clustered by _id
	name    string
	key     bsonx.Doc
	kind    index.Kind
	fields  index.Pattern
	multi   index.MultikeyPaths // what it was at the moment of planning
	array   bool                // multi has a component
	unique  bool
	sparse  bool
	partial filter.Node // nil: all documents
	// isPartial is true also where the partial filter could not be read: such an index is never chosen unhinted.
	isPartial bool
	// clustered is true for the index of a collection that was created with a clusteredIndex.
	clustered bool
	// wild is nil but for wildcard indexes.
	wild *wildcard
	// collation is that of the keys; nil for keys of strings as they are.
	collation *collation.Collator
}

const idIndexName = "_id_"

// indexesOf returns the indexes that a query may use, in catalog order after the _id index.
func indexesOf(c *table.Collection) []*indexInfo {
	out := []*indexInfo{idIndex(c)}
	for _, ix := range c.Indexes {
		if ix.Ready && !ix.Hidden {
			out = append(out, infoOf(ix))
		}
	}
	return out
}

func idIndex(c *table.Collection) *indexInfo {
	if c.IDIndex != nil {
		return infoOf(c.IDIndex)
	}
	if c.Oplog {
		return &indexInfo{name: "ts", key: oplogKey, fields: oplogPattern, unique: true, clustered: true}
	}
	info := &indexInfo{name: idIndexName, key: idKey, fields: idPattern, unique: true, collation: c.Collation}
	if v := c.Options.Lookup("clusteredIndex"); v.Type == bsonx.TypeDocument || c.Timeseries != nil {
		info.clustered = true
		if name := v.Doc().Lookup("name"); v.Type == bsonx.TypeDocument && name.Type == bsonx.TypeString {
			info.name = name.Str()
		}
	}
	return info
}

var (
	idKey     = bsonx.NewDoc("_id", 1)
	idPattern = index.Pattern{{Path: "_id"}}

	// The log of changes is clustered by its stamps.
	oplogKey     = bsonx.NewDoc("ts", 1)
	oplogPattern = index.Pattern{{Path: "ts"}}
)

func infoOf(ix *table.Index) *indexInfo {
	info := &indexInfo{
		ix: ix, name: ix.Name, key: ix.Key, kind: ix.Kind(), fields: ix.Pattern, multi: ix.Multikey(),
		unique: ix.Unique, sparse: ix.Sparse, isPartial: ix.PartialFilter != nil, collation: ix.Collation,
	}
	info.array = info.multi.IsMultikey()
	if f, ok := ix.Partial.(*filter.Filter); ok {
		info.partial = f.Normalize().Root
	}
	if info.kind == index.Wildcard {
		info.wild = wildcardOf(info)
	}
	return info
}

// bits returns which components of a field's path were arrays.
func (x *indexInfo) bits(field int) uint64 {
	if field < len(x.multi) {
		return x.multi[field]
	}
	return 0
}

func (x *indexInfo) isMultikey() bool { return x.array }

// fieldOf returns the position of the field that holds the values at a path, or -1.
func (x *indexInfo) fieldOf(path string) int {
	for i, f := range x.fields {
		if f.Holds(path) {
			return i
		}
	}
	return -1
}

// describe writes an index as MongoDB's errors do.
func (x *indexInfo) describe() string {
	out := "kp: " + shell(x.key)
	for _, flag := range []struct {
		name string
		set  bool
	}{{"multikey", x.isMultikey()}, {"sparse", x.sparse}, {"unique", x.unique}} {
		if flag.set {
			out += " " + flag.name
		}
	}
	out += " name: '(" + x.name + ", )'"
	if x.partial != nil {
		out += " filterExpr: " + DescribeFilter(x.partial)
	}
	if x.ix != nil {
		out += " io: " + shell(x.ix.Spec)
	}
	return out
}

// isGeo reports whether a field of an index holds cells of geometries.
func isGeo(f index.Field) bool { return f.Kind == index.Plane || f.Kind == index.Sphere }

// isGeo reports whether the index holds only documents that have a geometry.
func (x *indexInfo) isGeo() bool { return x.kind == index.Plane || x.kind == index.Sphere }

func (x *indexInfo) used(c *table.Collection) {
	if x.ix == nil || x.ix == c.IDIndex {
		c.IDUses().Add()
		return
	}
	x.ix.Uses().Add()
}
