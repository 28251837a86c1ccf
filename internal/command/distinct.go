package command

import (
	"context"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func distinctCommands() []Definition {
	return []Definition{{
		Name: "distinct", ByUUID: true, Help: "Returns the distinct values of a field.",
		InTransaction: true, Run: runDistinct, Read: true, TimedRead: true, Snapshot: true,
		Fields: []Field{
			{Name: "key", Type: String, Required: true, Check: checkDistinctKey},
			{Name: "query", Type: Object},
			{Name: "collation", Type: Object},
			{Name: "hint", Type: Any},
			{Name: "unwrapOptions", Type: Any},
		},
	}}
}

// checkDistinctKey refuses a path with a NUL.
func checkDistinctKey(_ string, v bsonx.Value) error {
	if strings.Contains(v.Str(), "\x00") {
		return mongoerr.New(31032, "Key field cannot contain an embedded null byte")
	}
	return nil
}

func runDistinct(ctx context.Context, req *Request, reply *bsonx.Builder) error {
	name, err := req.readCollection()
	if err != nil {
		return err
	}
	values := bsonx.Value{}
	c, err := req.lookup(name)
	if err != nil {
		return err
	}
	if isView(c) {
		values, err = distinctOnView(ctx, req, name)
	} else {
		values, err = distinctOf(ctx, req)
	}
	if err != nil {
		return err
	}
	if len(values.Data) > maxBatchBytes {
		return mongoerr.New(mongoerr.Code(17217), "distinct too big, 16mb cap")
	}
	req.Op.Debug.NReturned = int64(values.Doc().Len())
	reply.Value("values", values)
	if req.snapshot != nil {
		reply.Value("atClusterTime", timestamp(req.snapshot.at))
	}
	return nil
}

// distinctOf returns the distinct values in a collection.
func distinctOf(ctx context.Context, req *Request) (bsonx.Value, error) {
	reader := req.reads().reader()
	defer reader.Close()
	name, c, err := req.readable()
	for err == nil && !req.reads().pin(reader, c) {
		reader.Close()
		name, c, err = req.readable()
	}
	if err != nil {
		return bsonx.Missing, err
	}
	q, err := hintedQuery(req, name, c)
	if err != nil {
		return bsonx.Missing, err
	}
	values, err := req.Service.Planner.Distinct(ctx, q, req.String("key"), reader)
	return values, executing(duringDistinct, req.DB, name, err)
}
