package crud

import (
	"context"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/table"
)

// outMode is the kind of output of a mapReduce.
type outMode int

const (
	outInline  outMode = iota // results are returned in the reply
	outReplace                // results replace the collection
	outMerge                  // each result replaces the document with the same key
	outReduce                 // each result is reduced together with the document with the same key
)

// mapReduceOut is the argument out.
type mapReduceOut struct {
	mode outMode
	db   string // empty for the command's database
	coll string
}

// The error codes of MongoDB for output collections that are not allowed.
const (
	codeOutSpecial   = mongoerr.Code(17385)
	codeMergeSpecial = mongoerr.Code(31319)
	codeOutCapped    = mongoerr.Code(17152)
)

func parseMapReduceOut(v bsonx.Value) (mapReduceOut, error) {
	switch v.Type {
	case bsonx.TypeString:
		return mapReduceOut{mode: outReplace, coll: v.Str()}, nil
	case bsonx.TypeDocument:
	default:
		return mapReduceOut{}, mongoerr.New(mongoerr.BadValue, "'out' must be either a string or an object")
	}
	spec := v.Doc()
	if inline := spec.Lookup("inline"); !inline.IsMissing() {
		if spec.Len() != 1 {
			return mapReduceOut{}, mongoerr.New(mongoerr.InvalidOptions, "'inline' must be specified alone")
		}
		if n, ok := inline.AsFloat64(); !ok || n != 1 {
			return mapReduceOut{}, mongoerr.New(mongoerr.BadValue, "'inline' takes only numeric '1'")
		}
		return mapReduceOut{mode: outInline}, nil
	}
	return parseMapReduceTarget(spec)
}

// parseMapReduceTarget parses an out document that names a collection.
func parseMapReduceTarget(spec bsonx.Doc) (mapReduceOut, error) {
	var out mapReduceOut
	known := 0
	for _, flag := range []string{"sharded", "nonAtomic"} {
		v := spec.Lookup(flag)
		switch {
		case v.IsMissing():
			continue
		case v.Type != bsonx.TypeBool:
			return out, mongoerr.New(mongoerr.BadValue, "%s field value must be boolean", flag)
		case !v.Bool():
			return out, mongoerr.New(mongoerr.BadValue, "%s field value must be true", flag)
		}
		known++
	}
	for i, name := range []string{"replace", "merge", "reduce"} {
		v := spec.Lookup(name)
		if v.IsMissing() || out.mode != outInline {
			continue
		}
		if v.Type != bsonx.TypeString {
			return out, mongoerr.New(mongoerr.BadValue, "'%s' supports only string consisting of output collection name", name)
		}
		out.mode, out.coll = outReplace+outMode(i), v.Str()
		known++
	}
	if out.mode == outInline {
		return out, mongoerr.New(mongoerr.BadValue, "'out' requires 'replace', 'merge' or 'reduce'")
	}
	if v := spec.Lookup("db"); !v.IsMissing() {
		if v.Type != bsonx.TypeString {
			return out, mongoerr.New(mongoerr.BadValue, "db field value must be string")
		}
		if out.db = v.Str(); catalog.IsInternalDatabase(out.db) {
			return out, mongoerr.New(mongoerr.CommandNotSupported, "cannot target internal database as output")
		}
		known++
	}
	if spec.Len() != known {
		return out, mongoerr.New(mongoerr.BadValue, "'out' supports only output type with collection name, optional 'sharded' and optional 'db'")
	}
	return out, nil
}

// write outputs the results and appends the fields of the reply. begun is the catalog before the
// first document was read.
func (o *mapReduceOut) write(ctx context.Context, req *command.Request, m *mapReduce, docs []bsonx.Doc,
	begun table.CatalogView, reply *bsonx.Builder,
) error {
	if o.mode == outInline {
		return o.inline(docs, reply)
	}
	target, err := o.target(req.DB)
	if err != nil {
		return err
	}
	old, err := command.WriteTarget(req, target.DB, target.Name)
	if err != nil {
		return err
	}
	if o.mode == outReplace {
		if old != nil && old.Capped != nil {
			return mongoerr.New(codeOutCapped,
				"namespace '%s.%s' is capped so it can't be used for $out", target.DB, target.Name)
		}
		err = runOut(ctx, req, &read.StageSource{Source: &source.Slice{Docs: docs}}, target, begun)
	} else {
		err = o.merge(ctx, req, m, target, docs)
	}
	if err != nil {
		return err
	}
	if o.db == "" {
		reply.String("result", o.coll)
		return nil
	}
	reply.Doc("result", bsonx.NewDoc("db", o.db, "collection", o.coll))
	return nil
}

// target returns the output collection of a command on the database db.
func (o *mapReduceOut) target(db string) (*command.Namespace, error) {
	target := &command.Namespace{DB: db, Name: o.coll}
	if o.db != "" {
		target.DB = o.db
	}
	if strings.HasPrefix(target.Name, "system.") {
		code := codeMergeSpecial
		if o.mode == outReplace {
			code = codeOutSpecial
		}
		return nil, mongoerr.New(code, "Can't output mapReduce results to special collection %s", target.Name)
	}
	return target, nil
}

func (o *mapReduceOut) inline(docs []bsonx.Doc, reply *bsonx.Builder) error {
	size := 0
	reply.StartArrayField("results")
	for _, doc := range docs {
		if size += len(doc); size > maxReduceBytes {
			return mongoerr.New(mongoerr.BSONObjectTooLarge,
				"the results of an inline mapReduce exceed %d bytes", maxReduceBytes)
		}
		reply.Elem(bsonx.Document(doc))
	}
	reply.End()
	return nil
}

// merge writes each result to the collection. The result replaces the document with the same key.
// With outReduce, the result is first reduced together with that document.
func (o *mapReduceOut) merge(ctx context.Context, req *command.Request, m *mapReduce,
	target *command.Namespace, docs []bsonx.Doc,
) error {
	sc, err := command.NewScope(req)
	if err != nil {
		return err
	}
	opts := writeOptions(req)
	for _, doc := range docs {
		query := bsonx.NewDoc("_id", bsonx.NewDoc("$eq", doc.Lookup("_id")))
		if o.mode == outReduce {
			if doc, err = m.reduceWith(ctx, req, sc, target, query, doc); err != nil {
				return err
			}
		}
		spec := command.UpdateSpec{Query: query, Mods: bsonx.Document(doc), Upsert: true}
		if _, err := runUpdateSpec(ctx, req, sc, target.DB, target.Name, &spec, opts); err != nil {
			return err
		}
	}
	return nil
}

// reduceWith returns doc reduced together with the document in the target that has the same key, if
// there is one.
func (m *mapReduce) reduceWith(ctx context.Context, req *command.Request, sc read.Scope, target *command.Namespace,
	predicate, doc bsonx.Doc,
) (bsonx.Doc, error) {
	f, err := sc.Filter(predicate)
	if err != nil {
		return nil, err
	}
	src, err := read.OpenSource(ctx, req.Reads(), &query.Query{
		DB: target.DB, Name: target.Name, Coll: req.Service.Store.Lookup(target.DB, target.Name),
		Filter: f, Limit: 1, AllowDiskUse: true,
	})
	if err != nil {
		return nil, err
	}
	old, err := src.Next(ctx)
	value := old.Lookup("value").Clone()
	src.Close()
	if err != nil || old == nil {
		return doc, err
	}
	key := doc.Lookup("_id")
	v, err := m.interp.Call(ctx, m.reduce, bsonx.Missing, key,
		bsonx.Array(bsonx.NewArray(value, doc.Lookup("value")).Doc()))
	if err != nil {
		return nil, err
	}
	if v, err = m.finalized(ctx, key, v); err != nil {
		return nil, err
	}
	return bsonx.NewDoc("_id", key, "value", v), nil
}
