package command

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// adminCommands returns the commands that operate the server.
func adminCommands() []Definition {
	return []Definition{
		{
			Name: "shutdown", Help: "Stops the server.", AdminOnly: true,
			Fields: []Field{{Name: "force", Type: SafeBool}, {Name: "timeoutSecs", Type: SafeInt, Check: AtLeast(0)}},
			Run:    runShutdown,
		},
		{Name: "logRotate", Help: "Starts a new log file.", AdminOnly: true, Run: runLogRotate},
		{
			Name: "profile", Help: "Reads and sets when operations are logged as slow.", Lacks: "levels 1 and 2",
			Fields: []Field{
				{Name: "slowms", Type: SafeInt},
				{Name: "sampleRate", Type: SafeInt},
				{Name: "filter", Type: OneOf(bsonx.TypeDocument, bsonx.TypeString)},
			},
			Run: runProfile,
		},
		{
			Name: "setFeatureCompatibilityVersion", Help: "Accepts the only version there is.", AdminOnly: true, Write: true,
			CommandField: String, Run: runSetFCV,
			Fields: []Field{
				{Name: "confirm", Type: SafeBool},
				{Name: "downgradeOnDiskChanges", Type: SafeBool},
				{Name: "fromConfigServer", Type: SafeBool},
			},
		},
	}
}

func runShutdown(_ context.Context, req *Request, _ *bsonx.Builder) error {
	switch {
	case !req.Conn.LocalOnly:
		return mongoerr.New(mongoerr.Unauthorized, "shutdown must run from localhost when running db without auth")
	case req.Service.Shutdown == nil:
		return mongoerr.New(mongoerr.IllegalOperation, "an embedded database is closed by its program")
	}
	patience := ShutdownPatience
	if seconds := req.Get("timeoutSecs"); !seconds.IsMissing() {
		patience = time.Duration(min(saturatingInt64(seconds), int64(maxShutdownPatience.Seconds()))) * time.Second
	}
	req.Service.Logger.Info("Shutdown requested", "c", "CONTROL", "ctx", connName(req.Conn.ID), "timeoutSecs", patience.Seconds(),
		"force", req.Bool("force"))
	req.Service.Shutdown(patience)
	req.CloseConnection()
	return nil
}

const (
	// ShutdownPatience is how long running commands may take to finish at the end of a server, where nothing else is said.
	ShutdownPatience    = 15 * time.Second
	maxShutdownPatience = 24 * time.Hour
)

// runLogRotate begins the log anew. A set of one member has no audit log.
func runLogRotate(_ context.Context, req *Request, _ *bsonx.Builder) error {
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

func runSetFCV(_ context.Context, req *Request, _ *bsonx.Builder) error {
	if version := req.CommandValue().Str(); version != featureVersion {
		return mongoerr.New(codeFCV, "Invalid feature compatibility version value '%s'; expected '%s'", version, featureVersion)
	}
	if !req.Bool("confirm") {
		return mongoerr.New(codeFCVConfirm, "Once you have upgraded to %s, you will not be able to downgrade FCV and binary "+
			"version without support assistance. Please re-run this command with 'confirm: true' to acknowledge this and "+
			"continue with the FCV upgrade.", featureVersion)
	}
	return nil
}

const (
	codeFCV        = mongoerr.Code(4926900)
	codeFCVConfirm = mongoerr.Code(7369100)
)
