package crud

import (
	"context"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/oplog"
	"github.com/sheafdb/sheaf/internal/plan/explain"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/table"
)

// DistinctCommands returns the definition of distinct.
func DistinctCommands() []command.Definition {
	return []command.Definition{{
		Name: "distinct", ByUUID: true, Help: "Returns the distinct values of a field.",
		Properties: command.Properties{
			Writes: feature.No, Transactions: feature.Yes, StableAPI: feature.No, Expendable: feature.Yes,
			Secret: feature.No, AdminOnly: feature.No,
		},
		Run: runDistinct, Explain: explainRead(explainDistinct, distinctStages),
		Read: true, TimedRead: true, Snapshot: true,
		Latency: table.LatencyReads, UncountedOperators: true,
		Fields: []command.Field{
			{Name: "key", Type: command.String, Required: true, Check: checkDistinctKey},
			{Name: "query", Type: command.Object},
			{Name: "collation", Type: command.Object},
			{Name: "hint", Type: command.Any},
			{Name: "unwrapOptions", Type: command.Any},
		},
	}}
}

// checkDistinctKey returns an error if the path contains a NUL character.
func checkDistinctKey(_ string, v bsonx.Value) error {
	if strings.Contains(v.Str(), "\x00") {
		return mongoerr.New(31032, "Key field cannot contain an embedded null byte")
	}
	return nil
}

func runDistinct(ctx context.Context, req *command.Request, reply *bsonx.Builder) error {
	name, err := readCollection(req)
	if err != nil {
		return err
	}
	values := bsonx.Value{}
	c, err := req.Lookup(name)
	if err != nil {
		return err
	}
	if read.IsView(c) {
		values, err = distinctOnView(ctx, req, name)
	} else {
		values, err = distinctOf(ctx, req)
	}
	if err != nil {
		return err
	}
	if len(values.Data) > limits.BatchBytes {
		return mongoerr.New(mongoerr.Code(17217), "distinct too big, 16mb cap")
	}
	req.Op.Debug.NReturned = int64(values.Doc().Len())
	reply.Value("values", values)
	if req.Snapshot != nil {
		reply.Value("atClusterTime", oplog.Timestamp(req.Snapshot.At))
	}
	return nil
}

// distinctOf returns the distinct values of a field of a collection as an array.
func distinctOf(ctx context.Context, req *command.Request) (bsonx.Value, error) {
	reader := req.Reads().Reader()
	defer reader.Close()
	var name string
	var c *table.Collection
	err := table.RetryOn(table.ErrChanged, func() (err error) {
		if name, c, err = readable(req); err != nil {
			return err
		}
		return req.Reads().Pin(reader, c)
	})
	if err != nil {
		return bsonx.Missing, err
	}
	q, err := hintedQuery(req, name, c)
	if err != nil {
		return bsonx.Missing, err
	}
	values, err := req.Service.Planner.Distinct(ctx, q, req.String("key"), reader)
	return values, read.Executing(read.DuringDistinct, req.DB, name, err)
}

func explainDistinct(req *command.Request) (*explain.Request, error) {
	if _, err := readCollection(req); err != nil {
		return nil, err
	}
	name, c, err := readable(req)
	if err != nil {
		return nil, err
	}
	q, err := hintedQuery(req, name, c)
	return &explain.Request{Query: q, Command: explain.Distinct, Field: req.String("key")}, err
}
