package crud

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/read"
)

// MapReduceCommands returns the definition of mapReduce.
func MapReduceCommands() []command.Definition {
	code := command.OneOf(bsonx.TypeString, bsonx.TypeCode)
	return []command.Definition{{
		Name: "mapReduce", Aliases: []string{"mapreduce"}, Help: "Runs map and reduce functions in JavaScript.",
		Properties: command.Properties{
			Writes: feature.Yes, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
			Secret: feature.No, AdminOnly: feature.No,
		},
		Run: runMapReduce, Explain: explainMapReduce, Read: true, Kind: "command",
		Fields: []command.Field{
			{Name: "map", Type: command.Any, Required: true, Check: checkCode(code)},
			{Name: "reduce", Type: command.Any, Required: true, Check: checkCode(code)},
			{Name: "out", Type: command.Any, Required: true},
			{Name: "query", Type: command.Object},
			{Name: "sort", Type: command.Object},
			{Name: "limit", Type: command.SafeInt},
			{
				Name: "finalize", Type: command.Any,
				Check: checkCode(command.OneOf(bsonx.TypeString, bsonx.TypeCode, bsonx.TypeNull)),
			},
			{Name: "scope", Type: command.Object},
			{Name: "jsMode", Type: command.SafeBool},
			{Name: "verbose", Type: command.SafeBool},
			{Name: "bypassDocumentValidation", Type: command.SafeBool},
			{Name: "collation", Type: command.Object},
		},
	}}
}

// checkCode returns a Check for the type of a function. Code with scope is not a function since
// MongoDB 4.4.
func checkCode(want command.FieldType) func(string, bsonx.Value) error {
	return func(name string, v bsonx.Value) error {
		if !want.Accepts(v.Type) {
			return mongoerr.New(mongoerr.BadValue, "'%s' must be of string or code type", name)
		}
		return nil
	}
}

// The error codes of MongoDB for sort and limit. MongoDB runs mapReduce as a pipeline, so these are
// the codes of its stages.
const (
	codeMapReduceSort  = mongoerr.Code(15976)
	codeMapReduceLimit = mongoerr.Code(15958)
)

// parseMapReduce returns the query whose documents the mapReduce reads, and its output.
func parseMapReduce(req *command.Request) (*query.Query, mapReduceOut, error) {
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

func runMapReduce(ctx context.Context, req *command.Request, reply *bsonx.Builder) error {
	q, out, err := parseMapReduce(req)
	if err != nil {
		return err
	}
	m, err := newMapReduce(req)
	if err != nil {
		return err
	}
	begun := req.Service.Store.Catalog().View()
	src, err := read.OpenSource(ctx, req.Service.Read.Newest(), q)
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

// mapReduceQuery returns the query for the documents that the map function receives.
func mapReduceQuery(req *command.Request, name string) (*query.Query, error) {
	c := req.Service.Store.Lookup(req.DB, name)
	if read.IsView(c) {
		return nil, mongoerr.New(mongoerr.CommandNotSupportedOnView,
			"Namespace %s.%s is a view, not a collection", req.DB, name)
	}
	sort, limit := req.Doc("sort"), req.Int64("limit", 0)
	if sort != nil && sort.IsEmpty() {
		return nil, mongoerr.New(codeMapReduceSort, "The mapReduce sort option must have at least one sort key")
	}
	if limit < 0 {
		return nil, mongoerr.New(codeMapReduceLimit, "The limit specified to mapReduce must be positive")
	}
	if err := CheckSort(sort); err != nil {
		return nil, err
	}
	q, err := filteredQuery(req, name, c)
	if err != nil {
		return nil, err
	}
	q.Sort, q.Limit, q.AllowDiskUse = sort, limit, true
	return q, nil
}
