package command

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan"
)

func mapReduceCommands() []Definition {
	code := OneOf(bsonx.TypeString, bsonx.TypeCode)
	return []Definition{{
		Name: "mapReduce", Aliases: []string{"mapreduce"}, Help: "Runs map and reduce functions in JavaScript.",
		Run: runMapReduce, Read: true, Write: true, Kind: "command",
		Fields: []Field{
			{Name: "map", Type: Any, Required: true, Check: checkCode(code)},
			{Name: "reduce", Type: Any, Required: true, Check: checkCode(code)},
			{Name: "out", Type: Any, Required: true},
			{Name: "query", Type: Object},
			{Name: "sort", Type: Object},
			{Name: "limit", Type: SafeInt},
			{Name: "finalize", Type: Any, Check: checkCode(OneOf(bsonx.TypeString, bsonx.TypeCode, bsonx.TypeNull))},
			{Name: "scope", Type: Object},
			{Name: "jsMode", Type: SafeBool},
			{Name: "verbose", Type: SafeBool},
			{Name: "bypassDocumentValidation", Type: SafeBool},
			{Name: "collation", Type: Object},
		},
	}}
}

// checkCode refuses what is no function; code with a scope is none since MongoDB 4.4.
func checkCode(want FieldType) func(string, bsonx.Value) error {
	return func(name string, v bsonx.Value) error {
		if !want.Accepts(v.Type) {
			return mongoerr.New(mongoerr.BadValue, "'%s' must be of string or code type", name)
		}
		return nil
	}
}

// The codes of MongoDB's checks of mapReduce, which it translates to a pipeline.
const (
	codeMapReduceSort  = mongoerr.Code(15976)
	codeMapReduceLimit = mongoerr.Code(15958)
)

// parseMapReduce returns what a mapReduce reads and where it writes.
func parseMapReduce(req *Request) (*plan.Query, mapReduceOut, error) {
	var out mapReduceOut
	name, err := req.Collection()
	if err != nil {
		return nil, out, err
	}
	if out, err = parseMapReduceOut(req.Get("out")); err != nil {
		return nil, out, err
	}
	q, err := mapReduceQuery(req, name)
	return q, out, err
}

func runMapReduce(ctx context.Context, req *Request, reply *bsonx.Builder) error {
	q, out, err := parseMapReduce(req)
	if err != nil {
		return err
	}
	m, err := newMapReduce(req)
	if err != nil {
		return err
	}
	begun := req.Service.Store.Catalog().View()
	src, err := openSource(ctx, reads{service: req.Service}, q)
	if err != nil {
		return err
	}
	defer src.Close()
	if err := m.mapAll(ctx, src); err != nil {
		return err
	}
	docs, err := m.results(ctx)
	if err != nil {
		return err
	}
	return out.write(ctx, req, m, docs, begun, reply)
}

// mapReduceQuery is what the map function is called for.
func mapReduceQuery(req *Request, name string) (*plan.Query, error) {
	c := req.Service.Store.Lookup(req.DB, name)
	if isView(c) {
		return nil, mongoerr.New(mongoerr.CommandNotSupportedOnView, "Namespace %s.%s is a view, not a collection", req.DB, name)
	}
	sort, limit := req.Doc("sort"), req.Int64("limit", 0)
	if sort != nil && sort.IsEmpty() {
		return nil, mongoerr.New(codeMapReduceSort, "The mapReduce sort option must have at least one sort key")
	}
	if limit < 0 {
		return nil, mongoerr.New(codeMapReduceLimit, "The limit specified to mapReduce must be positive")
	}
	if err := checkSort(sort); err != nil {
		return nil, err
	}
	q, err := filteredQuery(req, name, c)
	if err != nil {
		return nil, err
	}
	q.Sort, q.Limit, q.AllowDiskUse = sort, limit, true
	return q, nil
}
