package admin

import (
	"context"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/table"
)

// maxSplitBytes is the total size in bytes from which a reply has no further split keys.
const maxSplitBytes = 15 << 20

// defaultSplitObjects is the default of maxChunkObjects, the largest number of documents between
// two split keys.
const defaultSplitObjects = 250_000

// idPattern is the key pattern of the _id index.
var idPattern = bsonx.NewDoc("_id", 1)

// SplitVectorCommands returns the definition of splitVector.
func SplitVectorCommands() []command.Definition {
	return []command.Definition{{
		Name: "splitVector", Help: "Cuts the documents of a collection, or of a range of an index, into parts of about equal size.", Run: runSplitVector,
		Properties: command.Properties{
			Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
			Secret: feature.No, AdminOnly: feature.No,
		},
		Fields: []command.Field{
			{Name: "keyPattern", Type: command.Object},
			{Name: "min", Type: command.Object},
			{Name: "max", Type: command.Object},
			{Name: "maxChunkSize", Type: command.SafeInt},
			{Name: "maxChunkSizeBytes", Type: command.SafeInt},
			{Name: "maxSplitPoints", Type: command.SafeInt},
			{Name: "maxChunkObjects", Type: command.SafeInt},
			{Name: "force", Type: command.SafeBool},
		},
	}}
}

func runSplitVector(ctx context.Context, req *command.Request, reply *bsonx.Builder) error {
	ns := req.CommandValue()
	if ns.Type != bsonx.TypeString {
		return command.WrongType("splitVector.splitVector", ns.Type, command.String)
	}
	db, name, valid, err := catalog.ParseNamespace(ns.Str())
	if err == nil && !valid {
		err = mongoerr.New(mongoerr.InvalidNamespace, "Namespace %s is not a valid collection name", ns.Str())
	}
	if err != nil {
		return err
	}
	v := splitter{
		req: req, pattern: req.Doc("keyPattern"), lower: req.Doc("min"), upper: req.Doc("max"),
		most: req.Int64("maxSplitPoints", 0),
	}
	if err := v.check(); err != nil {
		return err
	}
	c := req.Service.Store.Lookup(db, name)
	switch {
	case c == nil || read.IsVirtual(c):
		return mongoerr.New(mongoerr.NamespaceNotFound, "ns not found")
	case read.IsView(c):
		return mongoerr.New(mongoerr.CommandNotSupportedOnView, "Namespace %s is a view, not a collection", ns.Str())
	}
	if err := v.choose(c); err != nil {
		return err
	}
	keys, err := v.keys(ctx)
	if err != nil {
		return err
	}
	reply.Value("splitKeys", bsonx.ValueOf(keys))
	return nil
}

// splitter computes the keys that divide a range of an index into parts.
type splitter struct {
	req                   *command.Request
	coll                  *table.Collection
	index                 *table.Index // nil for the _id index
	pattern, lower, upper bsonx.Doc
	most                  int64 // largest number of split keys; 0 means no limit
	each                  int64 // number of documents between two split keys
}

// check checks the arguments that do not depend on the collection.
func (v *splitter) check() error {
	switch {
	case v.pattern == nil || v.pattern.IsEmpty():
		return mongoerr.New(mongoerr.BadValue, "no key pattern found in splitVector")
	case (v.lower == nil) != (v.upper == nil) || v.lower.IsEmpty() != v.upper.IsEmpty():
		return mongoerr.New(mongoerr.BadValue, "either provide both min and max or leave both empty")
	case !v.req.Bool("force") && v.maxBytes() <= 0:
		return mongoerr.New(mongoerr.BadValue, "need to specify the desired max chunk size (maxChunkSize or maxChunkSizeBytes)")
	}
	return nil
}

// maxBytes returns the largest size of a part in bytes, or 0 if the request has none.
func (v *splitter) maxBytes() int64 {
	const megabyte = 1 << 20
	if n := v.req.Int64("maxChunkSize", 0); n > 0 {
		return min(n, 1<<40) * megabyte
	}
	return v.req.Int64("maxChunkSizeBytes", 0)
}

// choose selects an index that has all documents in the order of the key pattern.
func (v *splitter) choose(c *table.Collection) error {
	v.coll = c
	if bsonx.CompareDocs(v.pattern, idPattern) == 0 {
		return nil
	}
	for _, ix := range c.Indexes {
		if v.serves(ix) {
			v.index = ix
			return nil
		}
	}
	return mongoerr.New(mongoerr.IndexNotFound, "couldn't find index over splitting key %s",
		bsonx.FormatShell(bsonx.Document(v.pattern)))
}

func (v *splitter) serves(ix *table.Index) bool {
	isArray := func(bits uint64) bool { return bits != 0 }
	if ix.PartialFilter != nil || ix.Sparse || ix.Collation != nil || !ix.Ready || ix.Hidden ||
		slices.ContainsFunc(ix.Multikey(), isArray) {
		return false
	}
	f := 0
	for it := v.pattern.Iter(); it.Next(); f++ {
		direction, _ := it.Value().AsFloat64()
		if f == len(ix.Pattern) || direction == 0 || ix.Pattern[f].Kind != index.Ordered ||
			ix.Pattern[f].Path != string(it.Key()) || ix.Pattern[f].Desc != (direction < 0) {
			return false
		}
	}
	return true
}

// keys returns the split keys. With force there is one key, in the middle. Otherwise documents of
// average size between two keys fill at most half of the allowed size, and there are at most
// maxChunkObjects of them.
func (v *splitter) keys(ctx context.Context) ([]bsonx.Doc, error) {
	counter, err := v.req.Service.Store.Count(v.coll)
	if err != nil || counter.Count == 0 {
		return nil, err
	}
	if v.req.Bool("force") {
		n := int64(0)
		if err := v.walk(ctx, func(bsonx.Doc) bool { n++; return true }); err != nil {
			return nil, err
		}
		v.most, v.each = 1, max(1, n/2)
		return v.cut(ctx)
	}
	if counter.Bytes < v.maxBytes() {
		return nil, nil
	}
	objects := v.req.Int64("maxChunkObjects", 0)
	if objects <= 0 {
		objects = defaultSplitObjects
	}
	average := max(1, counter.Bytes/counter.Count)
	v.each = max(1, min(v.maxBytes()/(2*average), objects))
	return v.cut(ctx)
}

// cut walks over the range and returns a key after every v.each documents. Documents with the same
// key stay in one part.
func (v *splitter) cut(ctx context.Context) ([]bsonx.Doc, error) {
	var out []bsonx.Doc
	var last bsonx.Doc
	n, size := int64(0), 0
	err := v.walk(ctx, func(key bsonx.Doc) bool {
		if n >= v.each && bsonx.CompareDocs(key, last) != 0 {
			n = 0
			out = append(out, key)
			size += len(key)
		}
		n++
		last = key
		return size < maxSplitBytes && (v.most <= 0 || int64(len(out)) < v.most)
	})
	return out, err
}

// walk calls f with the key of each document in the range, reduced to the fields of the key
// pattern, until f returns false.
func (v *splitter) walk(ctx context.Context, f func(key bsonx.Doc) bool) error {
	all, err := filter.Parse(bsonx.Empty, filter.Options{})
	if err != nil {
		return err
	}
	q := &query.Query{DB: v.coll.DB, Name: v.coll.Name, Coll: v.coll, Filter: all, ReturnKey: true, Hint: v.hint()}
	if !v.lower.IsEmpty() {
		q.Min, q.Max = v.extended(v.lower), v.extended(v.upper)
	}
	reader := exec.NewReader(v.req.Service.Store.Newest())
	defer reader.Close()
	run, err := v.req.Service.Planner.Find(ctx, q, reader)
	if err != nil {
		return err
	}
	defer run.Close()
	for {
		row, err := run.Next(ctx)
		if err != nil || row == nil {
			return err
		}
		if !f(v.own(row.Doc)) {
			return nil
		}
	}
}

// hint returns the hint that makes a query use the index.
func (v *splitter) hint() bsonx.Value {
	if v.index == nil {
		return bsonx.Document(idPattern)
	}
	return bsonx.String(v.index.Name)
}

// bound restricts a query to the range of dataSize. It returns true if the range is empty.
func (v *splitter) bound(q *query.Query) (empty bool, err error) {
	if v.choose(v.coll) != nil {
		return false, mongoerr.New(mongoerr.OperationFailed, "Couldn't find valid index containing key pattern")
	}
	for _, bound := range []bsonx.Doc{v.upper, v.lower} {
		if err := v.checkBound(bound); err != nil {
			return false, err
		}
	}
	lower, upper := v.extended(v.lower), v.extended(v.upper)
	q.Min, q.Max, q.Hint = lower, upper, v.hint()
	for i, f := range v.lower.Values() {
		order := bsonx.CompareValues(f, v.upper.Values()[i])
		if v.index != nil && v.index.Pattern[i].Desc {
			order = -order
		}
		if order != 0 {
			return order > 0, nil
		}
	}
	return true, nil
}

const codeBoundNames = mongoerr.Code(16634)

// checkBound returns an error unless the fields of a bound are the first fields of the key pattern,
// in its order.
func (v *splitter) checkBound(bound bsonx.Doc) error {
	pattern := v.pattern.Iter()
	for it := bound.Iter(); it.Next(); {
		if !pattern.Next() {
			return mongoerr.New(mongoerr.KeyPatternShorterThanBound, "keyPattern %s shorter than bound %s",
				bsonx.FormatShell(bsonx.Document(v.pattern)), bsonx.FormatShell(bsonx.Document(bound)))
		}
		if string(it.Key()) != string(pattern.Key()) {
			return mongoerr.New(codeBoundNames, "field names of bound %s do not match those of keyPattern %s",
				bsonx.FormatShell(bsonx.Document(bound)), bsonx.FormatShell(bsonx.Document(v.pattern)))
		}
	}
	return nil
}

// own returns an index key reduced to the fields of the key pattern.
func (v *splitter) own(key bsonx.Doc) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for it := v.pattern.Iter(); it.Next(); {
		b.Value(string(it.Key()), key.Lookup(string(it.Key())))
	}
	b.End()
	return b.Bytes()
}

// extended returns a bound with all fields of the index. Each missing field gets the value that
// comes first in the index.
func (v *splitter) extended(bound bsonx.Doc) bsonx.Doc {
	if v.index == nil {
		return bound
	}
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for _, f := range v.index.Pattern {
		value := bound.Lookup(f.Path)
		switch {
		case !value.IsMissing():
		case f.Desc:
			value = bsonx.MaxKey
		default:
			value = bsonx.MinKey
		}
		b.Value(f.Path, value)
	}
	b.End()
	return b.Bytes()
}
