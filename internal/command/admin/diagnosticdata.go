package admin

import (
	"context"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/oplog"
)

// DiagnosticDataCommands returns the definition of getDiagnosticData.
func DiagnosticDataCommands() []command.Definition {
	return []command.Definition{{
		Name: "getDiagnosticData", Help: "Returns what monitoring collects, in one document.",
		Loose: true, Run: runDiagnosticData,
		Properties: command.Properties{
			Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
			Secret: feature.No, AdminOnly: feature.Yes,
		},
	}}
}

// runDiagnosticData replies with the data that MongoDB samples every second in the background. Here
// each command takes one sample.
func runDiagnosticData(ctx context.Context, req *command.Request, reply *bsonx.Builder) error {
	s := req.Service
	reply.StartDocField("data")
	reply.Date("start", s.Clock.Now().UnixMilli())
	if err := appendSampled(req, reply, "serverStatus",
		func() error { return runServerStatus(ctx, req, reply) }); err != nil {
		return err
	}
	if s.Replicates() {
		if err := appendSampled(req, reply, "replSetGetStatus",
			func() error { return runReplSetStatus(ctx, req, reply) }); err != nil {
			return err
		}
		for _, ns := range [...][2]string{
			{oplog.DB, oplog.Collection},
			{"config", "transactions"},
			{"config", "image_collection"},
		} {
			err := appendSampled(req, reply, ns[0]+"."+ns[1]+".stats", func() error {
				reply.String("ns", ns[0]+"."+ns[1])
				return appendStorageStats(ctx, s, reply, s.Store.Lookup(ns[0], ns[1]), 1, req.Conn.Local)
			})
			if err != nil {
				return err
			}
		}
	}
	if metrics := systemMetrics(); metrics != nil {
		err := appendSampled(req, reply, "systemMetrics", func() error {
			metrics(reply)
			return nil
		})
		if err != nil {
			return err
		}
	}
	reply.Date("end", s.Clock.Now().UnixMilli())
	reply.End()
	return nil
}

// appendSampled appends one part of the sample, with the times at which its measurement began and
// ended.
func appendSampled(req *command.Request, b *bsonx.Builder, name string, fields func() error) error {
	now := func() time.Time { return req.Service.Clock.Now() }
	b.StartDocField(name)
	b.Date("start", now().UnixMilli())
	err := fields()
	b.Date("end", now().UnixMilli())
	b.End()
	return err
}
