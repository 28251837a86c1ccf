package admin

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// AdminCommands returns the commands that administer the server.
func AdminCommands() []command.Definition {
	return []command.Definition{
		{
			Name: "shutdown", Help: "Stops the server.",
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.No,
				Secret: feature.No, AdminOnly: feature.Yes,
			},
			Fields: []command.Field{
				{Name: "force", Type: command.SafeBool},
				{Name: "timeoutSecs", Type: command.SafeInt, Check: command.AtLeast(0)},
			},
			Run: runShutdown,
		},
		{
			Name: "logRotate", Help: "Starts a new log file.", Run: runLogRotate,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.Yes,
			},
		},
		{
			Name: "profile", Help: "Reads and sets when operations are logged as slow.", Lacks: "levels 1 and 2",
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.No,
			},
			Fields: []command.Field{
				{Name: "slowms", Type: command.SafeInt},
				{Name: "sampleRate", Type: command.SafeInt},
				{Name: "filter", Type: command.OneOf(bsonx.TypeDocument, bsonx.TypeString)},
			},
			Run: runProfile,
		},
		{
			Name: "setFeatureCompatibilityVersion", Help: "Accepts the only version there is.",
			Properties: command.Properties{
				Writes: feature.Yes, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.Yes,
			},
			CommandField: command.String, Run: runSetFCV,
			Fields: []command.Field{
				{Name: "confirm", Type: command.SafeBool},
				{Name: "downgradeOnDiskChanges", Type: command.SafeBool},
				{Name: "fromConfigServer", Type: command.SafeBool},
			},
		},
	}
}

func runShutdown(_ context.Context, req *command.Request, _ *bsonx.Builder) error {
	switch {
	case !req.Conn.LocalOnly:
		return mongoerr.New(mongoerr.Unauthorized, "shutdown must run from localhost when running db without auth")
	case req.Service.Shutdown == nil:
		return mongoerr.New(mongoerr.IllegalOperation, "an embedded database is closed by its program")
	}
	patience := ShutdownPatience
	if seconds := req.Get("timeoutSecs"); !seconds.IsMissing() {
		patience = time.Duration(min(bsonx.SaturatingInt64(seconds),
			int64(maxShutdownPatience.Seconds()))) * time.Second
	}
	req.Service.Logger.Info("Shutdown requested", "c", "CONTROL", "ctx", command.ConnName(req.Conn.ID),
		"timeoutSecs", patience.Seconds(),
		"force", req.Bool("force"))
	req.Service.Shutdown(patience)
	req.CloseConnection()
	return nil
}

const (
	// ShutdownPatience is the default time that running commands may take to finish when the server
	// stops.
	ShutdownPatience    = 15 * time.Second
	maxShutdownPatience = 24 * time.Hour
)

// runLogRotate starts a new log file. For the audit log, which does not exist here, it does
// nothing.
func runLogRotate(_ context.Context, req *command.Request, _ *bsonx.Builder) error {
	switch v := req.CommandValue(); {
	case v.Type == bsonx.TypeString && v.Str() != "server" && v.Str() != "audit":
		return mongoerr.New(mongoerr.NoSuchKey, "Unknown log type '%s'", v.Str())
	case v.Type == bsonx.TypeString && v.Str() == "audit", req.Service.RotateLog == nil:
		return nil
	}
	req.Service.Logger.Info("Log rotation initiated", "c", "CONTROL", "id", 23166)
	err := req.Service.RotateLog()
	switch {
	case errors.Is(err, os.ErrExist):
		return mongoerr.New(mongoerr.FileRenameFailed, "Failed to rename the log: %v", err)
	case err != nil:
		return mongoerr.New(mongoerr.OperationFailed, "Log rotation failed: %v", err)
	}
	return nil
}

func runSetFCV(_ context.Context, req *command.Request, _ *bsonx.Builder) error {
	if version := req.CommandValue().Str(); version != command.FeatureVersion {
		return mongoerr.New(codeFCV, "Invalid feature compatibility version value '%s'; expected '%s'", version, command.FeatureVersion)
	}
	if !req.Bool("confirm") {
		return mongoerr.New(codeFCVConfirm, "Once you have upgraded to %s, you will not be able to downgrade FCV and binary "+
			"version without support assistance. Please re-run this command with 'confirm: true' to acknowledge this and "+
			"continue with the FCV upgrade.", command.FeatureVersion)
	}
	return nil
}

const (
	codeFCV        = mongoerr.Code(4926900)
	codeFCVConfirm = mongoerr.Code(7369100)
)
