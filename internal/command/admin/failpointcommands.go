package admin

import (
	"context"
	"slices"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/failpoint"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// FailPointCommands returns configureFailPoint and the other commands that exist only for tests.
func FailPointCommands() []command.Definition {
	return []command.Definition{{
		Name: "configureFailPoint", Loose: true, Help: "Makes commands fail, for tests.",
		TestOnly: true, Hidden: true,
		Properties: command.Properties{
			Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
			Secret: feature.No, AdminOnly: feature.Yes,
		},
		Fields: []command.Field{{Name: "mode", Required: true}, {Name: "data", Type: command.Object}},
		Run:    runConfigureFailPoint,
	}, {
		Name: "waitForFailPoint", Help: "Waits until a fail point has fired, for tests.",
		TestOnly: true, Hidden: true,
		Properties: command.Properties{
			Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
			Secret: feature.No, AdminOnly: feature.Yes,
		},
		NoSlowLog: true, CommandField: command.String,
		Fields: []command.Field{{
			Name: "timesEntered", Type: command.SafeInt,
			Required: true, Check: command.AtLeast(0),
		}},
		Run: runWaitForFailPoint,
	}, {
		Name: "testVersion2", Help: "Belongs to version 2 of the stable API, which there is not, for tests.", TestOnly: true, Hidden: true, NoAuth: true,
		Properties: command.Properties{
			Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
			Secret: feature.No, AdminOnly: feature.No,
		},
		Run: func(context.Context, *command.Request, *bsonx.Builder) error { return nil },
	}}
}

// runWaitForFailPoint waits until a fail point was entered timesEntered times, or until maxTimeMS
// has passed.
func runWaitForFailPoint(ctx context.Context, req *command.Request, _ *bsonx.Builder) error {
	name := req.CommandValue().Str()
	if !slices.Contains(failpoint.Names, name) {
		return mongoerr.New(mongoerr.FailPointSetFailed, "%s not found", name)
	}
	if !req.Generic.HasMaxTime {
		return mongoerr.New(mongoerr.IDLFailedToParse,
			"BSON field 'waitForFailPoint.maxTimeMS' is missing but a required field")
	}
	for {
		n, changed := req.Service.FailPoints.Entered(name)
		if n >= req.Int64("timesEntered", 0) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func runConfigureFailPoint(_ context.Context, req *command.Request, reply *bsonx.Builder) error {
	name := req.CommandValue()
	if name.Type != bsonx.TypeString {
		return command.WrongType("configureFailPoint.configureFailPoint", name.Type, command.String)
	}
	p, err := parseFailPoint(req.Get("mode"))
	if err != nil {
		return err
	}
	if p != nil {
		if !slices.Contains(failpoint.Names, name.Str()) {
			return mongoerr.New(mongoerr.FailPointSetFailed, "%s not found", name.Str())
		}
		if p.Data, err = parseFailData(req.Doc("data")); err != nil {
			return err
		}
	}
	reply.Int64("count", req.Service.FailPoints.Set(name.Str(), p))
	return nil
}

// parseFailPoint parses the argument mode. It returns nil for the mode "off".
func parseFailPoint(mode bsonx.Value) (*failpoint.Point, error) {
	switch {
	case mode.Type == bsonx.TypeString && mode.Str() == "off":
		return nil, nil
	case mode.Type == bsonx.TypeString && mode.Str() == "alwaysOn":
		return &failpoint.Point{AlwaysOn: true}, nil
	case mode.Type == bsonx.TypeDocument:
		if v := mode.Doc().Lookup("times"); v.Type.IsNumber() {
			return &failpoint.Point{Times: bsonx.SaturatingInt64(v)}, nil
		}
		if v := mode.Doc().Lookup("skip"); v.Type.IsNumber() {
			return &failpoint.Point{AlwaysOn: true, Skip: bsonx.SaturatingInt64(v)}, nil
		}
		if v := mode.Doc().Lookup("activationProbability"); v.Type.IsNumber() {
			chance, _ := v.AsFloat64()
			if chance < 0 || chance > 1 {
				return nil, mongoerr.New(mongoerr.BadValue, "activationProbability must be between 0.0 and 1.0; found %g", chance)
			}
			if chance == 0 {
				return nil, nil
			}
			return &failpoint.Point{AlwaysOn: true, Chance: chance}, nil
		}
	}
	return nil, mongoerr.New(mongoerr.BadValue, "unknown mode of fail point")
}

func parseFailData(doc bsonx.Doc) (failpoint.Data, error) {
	d := failpoint.Data{Commands: make(map[string]bool)}
	for it := doc.Iter(); it.Next(); {
		v := it.Value()
		switch string(it.Key()) {
		case "failCommands":
			if v.Type != bsonx.TypeArray {
				return d, command.WrongType("configureFailPoint.data.failCommands", v.Type, command.Array)
			}
			for _, e := range v.Doc().Values() {
				if e.Type == bsonx.TypeString {
					d.Commands[e.Str()] = true
				}
			}
		case "errorCode":
			d.ErrorCode, d.HasErrorCode = int32(bsonx.SaturatingInt64(v)), true
		case "errorLabels":
			d.Labels = []string{}
			if v.Type == bsonx.TypeArray {
				for _, e := range v.Doc().Values() {
					if e.Type != bsonx.TypeString {
						return d, command.WrongType("configureFailPoint.data.errorLabels", e.Type, command.String)
					}
					d.Labels = append(d.Labels, e.Str())
				}
			}
		case "closeConnection":
			d.Close = v.Truthy()
			d.KeepsConnection = !v.Truthy()
		case "failBeforeCommitExceptionCode":
			d.BeforeCommit = mongoerr.Code(bsonx.SaturatingInt64(v))
		case "namespace":
			if v.Type == bsonx.TypeString {
				d.Namespace = v.Str()
			}
		case "blockConnection":
			if v.Truthy() {
				d.Block = time.Duration(bsonx.SaturatingInt64(doc.Lookup("blockTimeMS"))) * time.Millisecond
			}
		case "writeConcernError":
			if v.Type == bsonx.TypeDocument {
				d.WCError = v.Doc().Clone()
			}
		case "appName":
			if v.Type == bsonx.TypeString {
				d.AppName = v.Str()
			}
		}
	}
	return d, nil
}
