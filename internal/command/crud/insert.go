package crud

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/table"
)

// InsertCommands returns the definition of insert.
func InsertCommands() []command.Definition {
	return []command.Definition{{
		Name: "insert", Help: "Adds documents to a collection.",
		Properties: command.Properties{
			Writes: feature.Yes, Transactions: feature.Yes, StableAPI: feature.Yes, Expendable: feature.Yes,
			Secret: feature.No, AdminOnly: feature.No,
		},
		Run: runInsert, Parses: true, Silent: true, Retryable: true, Kind: "insert", Counter: command.CountNone,
		Latency: table.LatencyWrites, Traffic: table.TrafficInsert,
		Fields: []command.Field{
			{Name: "documents", Type: command.Array, Required: true, Sequence: true},
			{Name: "ordered", Type: command.Bool},
			{Name: "bypassDocumentValidation", Type: command.SafeBool},
			{Name: "bypassEmptyTsReplacement", Type: command.OptionalBool, Unstable: true},
			{Name: "stmtId", Type: command.Int},
			{Name: "stmtIds", Type: command.Array},
			command.CollectionUUID,
			encryptionInformation,
			isTimeseriesNamespace,
		},
	}}
}

// checkBatch returns an error if a write command has no statements or too many.
func checkBatch(n int) error {
	if n < 1 || n > limits.WriteBatch {
		return mongoerr.New(mongoerr.InvalidLength,
			"Write batch sizes must be between 1 and %d. Got %d operations.", limits.WriteBatch, n)
	}
	return nil
}

func runInsert(ctx context.Context, req *command.Request, reply *bsonx.Builder) error {
	name, err := req.CollectionName()
	if err != nil {
		return err
	}
	size := req.DocumentCount("documents")
	if err := checkBatch(size); err != nil {
		return req.Malformed(err)
	}
	if err := checkBuckets(req, name); err != nil {
		return err
	}
	if err := readStatements(req, size); err != nil {
		return err
	}
	batch := newInsertBatch(req)
	err = batch.prepare()
	req.Memory.Docs = batch.docs
	if err != nil {
		return req.Malformed(err)
	}
	if err := command.CheckUUID(req, name); err != nil {
		return refuseAll(err, req, size, reply)
	}
	if _, err := command.WriteTarget(req, req.DB, name); err != nil {
		return refuseInsert(err, req, size, reply)
	}
	batch.opts.Retry.At(batch.position, 0)
	var n int
	if len(batch.docs) > 0 {
		open := func() (*table.Collection, error) { return command.EnsureTarget(req, req.DB, name) }
		n, err = req.Service.Writes.Insert(ctx, open, batch.docs, batch.opts, batch.failed)
		if err != nil {
			return err
		}
	} else if _, err := command.EnsureTarget(req, req.DB, name); err != nil {
		return err
	}
	req.Op.Debug.Inserted(int64(n))
	reply.Int32("n", int32(n+batch.executed))
	batch.finish(n)
	req.Count(command.CountInsert, int64(n+len(batch.errors.items)))
	appendWriteErrors(req, reply, &batch.errors)
	appendRetried(req, reply)
	return nil
}

// refuseAll replies that every document failed with err. In an ordered insert only the first
// document is tried, so only it has an error.
func refuseAll(err error, req *command.Request, size int, reply *bsonx.Builder) error {
	if endsCommand(err) {
		return err
	}
	if req.BoolOr("ordered", true) {
		size = 1
	}
	var failures writeErrors
	for i := range size {
		failures.add(i, err)
	}
	reply.Int32("n", 0)
	req.Count(command.CountInsert, int64(size))
	appendWriteErrors(req, reply, &failures)
	return nil
}

// refuseInsert replies to an insert whose target cannot be written. For a view the first document
// gets the error, for a wrong collectionUUID every document. For an invalid name the command fails.
func refuseInsert(err error, req *command.Request, size int, reply *bsonx.Builder) error {
	if mongoerr.CodeOf(err) == mongoerr.CollectionUUIDMismatch {
		return refuseAll(err, req, size, reply)
	}
	if mongoerr.CodeOf(err) != mongoerr.CommandNotSupportedOnView {
		return err
	}
	var failures writeErrors
	failures.add(0, err)
	reply.Int32("n", 0)
	req.Count(command.CountInsert, 1)
	appendWriteErrors(req, reply, &failures)
	return nil
}
