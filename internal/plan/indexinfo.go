package plan

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/mongoerr"
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

// scan returns a scan of the whole index, to be restricted.
func (x *indexInfo) scan() *indexScan {
	scan := &indexScan{index: x, dedup: x.isMultikey()}
	scan.bounds = scan.room[:0]
	for range x.fields {
		scan.bounds = append(scan.bounds, allValues)
	}
	return scan
}

// fieldOf returns the position of the field that holds the values at a path, or -1.
func (x *indexInfo) fieldOf(path string) int {
	for i, f := range x.fields {
		if f.Holds(path) {
			return i
		}
	}
	return -1
}

// hint is a parsed hint.
type hint struct {
	index    *indexInfo // nil: none
	natural  int        // 1, -1, or 0
	provided bool
}

// parseHint resolves a hint against all indexes, hidden ones excepted.
func parseHint(v bsonx.Value, c *table.Collection, indexes []*indexInfo) (hint, error) {
	switch v.Type {
	case bsonx.TypeMissing:
		return hint{}, nil
	case bsonx.TypeString:
		for _, x := range indexes {
			if x.name == v.Str() {
				return hint{index: x, provided: true}, nil
			}
		}
		return hint{}, badHint()
	case bsonx.TypeDocument:
	default:
		return hint{}, mongoerr.New(mongoerr.FailedToParse, "Hint must be a string or an object")
	}
	if v.Doc().IsEmpty() {
		return hint{}, nil
	}
	if dir, err := naturalHint(v); dir != 0 || err != nil {
		return hint{natural: dir, provided: true}, err
	}
	var found *indexInfo
	for _, x := range indexes {
		if bsonx.CompareDocs(x.key, v.Doc()) != 0 {
			continue
		}
		if found != nil {
			return hint{}, ambiguousHint(found, x)
		}
		found = x
	}
	if found == nil {
		return hint{}, badHint()
	}
	return hint{index: found, provided: true}, nil
}

func ambiguousHint(a, b *indexInfo) error {
	return mongoerr.New(mongoerr.IndexNotFound, "error processing query: planner returned error :: caused by :: "+
		"Hint matched multiple indexes, must hint by index name. Matched: %s and %s", a.describe(), b.describe())
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

func badHint() error {
	return mongoerr.New(mongoerr.BadValue, "error processing query: planner returned error :: caused by :: "+
		"hint provided does not correspond to an existing index")
}

// naturalHint returns the direction that a hint gives a scan of the collection, 0 for a hint of an
// index.
func naturalHint(v bsonx.Value) (int, error) {
	if v.Type != bsonx.TypeDocument {
		return 0, nil
	}
	n := v.Doc().Lookup("$natural")
	switch {
	case n.IsMissing():
		return 0, nil
	case v.Doc().Len() > 1:
		n = bsonx.Missing // which is no direction
	}
	return naturalDirection("hint", n)
}

// CheckHint refuses a $natural hint that no collection accepts.
func CheckHint(hint bsonx.Value) error {
	_, err := naturalHint(hint)
	return err
}

// NaturalHint returns the hint that stands for a sort by $natural where a pipeline has no such sort: missing for other sorts.
// It refuses a hint that does not go together with the sort.
func NaturalHint(sort bsonx.Doc, hint bsonx.Value) (bsonx.Value, error) {
	v := sort.Lookup("$natural")
	if v.IsMissing() {
		return bsonx.Missing, nil
	}
	direction, err := naturalDirection("sort", v)
	if err != nil {
		return bsonx.Missing, err
	}
	hinted, err := naturalHint(hint)
	if err == nil {
		index := hint.Type == bsonx.TypeString || !hint.Doc().IsEmpty()
		err = checkNatural(direction, hinted, hinted == 0 && index)
	}
	return bsonx.Document(bsonx.NewDoc("$natural", int32(direction))), err
}

// naturalDirection reads the direction of a scan from a sort or a hint.
func naturalDirection(of string, v bsonx.Value) (int, error) {
	if i, ok := v.AsExactInt64(); ok && (i == 1 || i == -1) {
		return int(i), nil
	}
	return 0, mongoerr.New(mongoerr.BadValue, "$natural %s cannot be set to a value other than -1 or 1.", of)
}
