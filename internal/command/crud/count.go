package crud

import (
	"context"
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/explain"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/table"
)

// CountCommands returns the definition of count.
func CountCommands() []command.Definition {
	return []command.Definition{{
		Name: "count", ByUUID: true, Help: "Counts the documents that match a filter.",
		Properties: command.Properties{
			Writes: feature.No, Transactions: feature.No, StableAPI: feature.Yes, Expendable: feature.Yes,
			Secret: feature.No, AdminOnly: feature.No,
		},
		Run: runCount, Explain: explainRead(explainCount, countingStages), Read: true, TimedRead: true,
		Latency: table.LatencyReads, UncountedOperators: true,
		InTransaction: command.TransactionRules{
			Refused: "Cannot run 'count' in a multi-document transaction. Please see " +
				"http://dochub.mongodb.org/core/transaction-count for a recommended alternative.",
		},
		Fields: []command.Field{
			{Name: "query", Type: command.Object},
			{Name: "limit", Check: checkCountLimit},
			{Name: "skip", Type: command.SafeInt, Check: command.AtLeast(0)},
			{Name: "hint", Type: command.Any},
			{Name: "collation", Type: command.Object},
			{Name: "fields", Type: command.Any, Unstable: true},
			{Name: "queryOptions", Type: command.Object},
			encryptionInformation,
		},
	}}
}

// checkCountLimit returns an error unless v is an integer that can be negated in 64 bits.
func checkCountLimit(_ string, v bsonx.Value) error {
	f, ok := v.AsFloat64()
	n, exact := v.AsExactInt64()
	switch {
	case !ok:
		return mongoerr.New(mongoerr.BadValue, "limit value is not a valid number")
	case math.IsNaN(f):
		return mongoerr.New(mongoerr.FailedToParse, "Expected an integer, but found NaN in: limit: nan")
	case math.Abs(f) >= 1<<63 && !exact:
		return mongoerr.New(mongoerr.FailedToParse,
			"Cannot represent as a 64-bit integer: limit: %s", bsonx.FormatShell(v))
	case !exact:
		return mongoerr.New(mongoerr.FailedToParse, "Expected an integer: limit: %s", bsonx.FormatShell(v))
	case n == math.MinInt64:
		return mongoerr.New(mongoerr.BadValue, "limit value for count cannot be min long")
	}
	return nil
}

func runCount(ctx context.Context, req *command.Request, reply *bsonx.Builder) error {
	name, err := req.Collection()
	if err != nil {
		return err
	}
	var n int64
	c, err := req.Lookup(name)
	if err != nil {
		return err
	}
	if read.IsView(c) {
		n, err = countOnView(ctx, req, name)
	} else {
		n, err = countCollection(ctx, req, name, c)
	}
	if err != nil {
		return err
	}
	req.Op.Debug.NReturned = 1 // MongoDB counts the number as one returned document
	command.AppendNumber(reply, "n", n)
	return nil
}

func countCollection(ctx context.Context, req *command.Request, name string, c *table.Collection) (int64, error) {
	q, err := countQuery(req, name, c)
	if err != nil {
		return 0, err
	}
	n, err := req.Reads().CountMatches(ctx, q)
	return n, read.Executing(read.DuringCount, req.DB, name, err)
}

func countQuery(req *command.Request, name string, c *table.Collection) (*query.Query, error) {
	q, err := hintedQuery(req, name, c)
	if err != nil {
		return nil, err
	}
	limit := req.Int64("limit", 0)
	if limit < 0 {
		limit = -limit // a negative limit comes from old clients and means the same
	}
	q.Skip, q.Limit = req.Int64("skip", 0), limit
	return q, nil
}

func explainCount(req *command.Request) (*explain.Request, error) {
	name, c, err := readable(req)
	if err != nil {
		return nil, err
	}
	q, err := countQuery(req, name, c)
	return &explain.Request{Query: q, Command: explain.Count, Records: req.Reads().RecordCount(c)}, err
}

// countingStages returns the stages that explain shows for a count on a view.
func countingStages(req *command.Request, name string) (read.Scope, []bsonx.Value, error) {
	sc, stages, err := countStages(req, name)
	return sc, append(stages, bsonx.Document(bsonx.NewDoc("$count", "count"))), err
}
