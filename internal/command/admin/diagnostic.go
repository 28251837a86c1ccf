package admin

import (
	"cmp"
	"context"
	"runtime"
	"strconv"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/relief"
)

// DiagnosticCommands returns the commands that describe the server and the connection.
func DiagnosticCommands() []command.Definition {
	return append(connectionCommands(), []command.Definition{
		{
			Name: "ping", Help: "Answers.", NoAuth: true, Run: runPing,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.Yes, Expendable: feature.No,
				Secret: feature.No, AdminOnly: feature.No,
			},
		},
		{
			Name: "buildInfo", Aliases: []string{"buildinfo"}, Help: "Tells the version.",
			NoAuth: true, Run: runBuildInfo,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.No,
			},
		},
		{
			Name: "hostInfo", Help: "Describes the machine.", Run: runHostInfo,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.No,
			},
		},
		{
			Name: "getCmdLineOpts", Help: "Shows how the server was started.", Run: runCmdLineOpts,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.Yes,
			},
		},
		{
			Name: "listCommands", Loose: true, Help: "Lists the commands.", Run: runListCommands,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.No,
			},
		},
		{
			Name: "features", Help: "Tells the OIDs machine number.", Loose: true, Hidden: true, Run: runFeatures,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.No,
			},
		},
		{
			Name: "isdbgrid", Help: "Exists on mongos only.", Status: feature.Absent, Hidden: true,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.No,
			},
		},
		{
			Name: "atlasVersion", Help: "Exists on Atlas only.", Status: feature.Absent, Hidden: true,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.No,
			},
		},
	}...)
}

// connectionCommands returns the commands that describe the connection.
func connectionCommands() []command.Definition {
	return []command.Definition{
		{
			Name: "connectionStatus", Help: "Tells who is authenticated.", NoAuth: true,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.Yes, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.No,
			},
			Fields: []command.Field{{
				Name: "showPrivileges", Type: command.SafeBool,
				Unstable: true,
			}}, Run: runConnectionStatus,
		},
		{
			Name: "whatsmyuri", Loose: true, Help: "Tells the client's address.", NoAuth: true, Run: runWhatsMyURI,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.No,
			},
		},
		{
			Name: "whatsmysni", Loose: true, Help: "Tells the TLS server name of the client.",
			NoAuth: true, Run: runWhatsMySNI,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.No,
			},
		},
	}
}

func runPing(context.Context, *command.Request, *bsonx.Builder) error { return nil }

func runBuildInfo(_ context.Context, req *command.Request, reply *bsonx.Builder) error {
	command.AppendBuild(reply, req.Service.Build)
	return nil
}

func runHostInfo(_ context.Context, req *command.Request, reply *bsonx.Builder) error {
	host := readHost()
	reply.StartDocField("system")
	reply.Date("currentTime", req.Now.UnixMilli())
	reply.String("hostname", req.Service.Hostname)
	reply.Int32("cpuAddrSize", strconv.IntSize)
	if n := relief.MachineMemory(); n > 0 {
		reply.Int64("memSizeMB", n>>20)
		reply.Int64("memLimitMB", relief.TotalMemory()>>20)
	}
	reply.Int32("numCores", int32(runtime.NumCPU()))
	reply.Int32("numCoresAvailableToProcess", int32(runtime.GOMAXPROCS(0)))
	reply.String("cpuArch", command.Machine())
	if host.nodes > 0 {
		reply.Bool("numaEnabled", host.nodes > 1)
		reply.Int32("numNumaNodes", int32(host.nodes))
	}
	reply.End()
	reply.StartDocField("os")
	reply.String("type", strings.ToUpper(runtime.GOOS[:1])+runtime.GOOS[1:])
	reply.String("name", cmp.Or(host.name, runtime.GOOS))
	if host.version != "" {
		reply.String("version", host.version)
	}
	reply.End()
	reply.StartDocField("extra")
	host.appendExtra(reply)
	reply.End()
	return nil
}

// hostFacts describes the operating system and the machine. Unknown facts are empty, and hostInfo
// omits them.
type hostFacts struct {
	name, version, kernel string
	nodes                 int // number of NUMA nodes
}

func runConnectionStatus(_ context.Context, req *command.Request, reply *bsonx.Builder) error {
	reply.StartDocField("authInfo")
	for _, name := range [...]string{"authenticatedUsers", "authenticatedUserRoles"} {
		reply.StartArrayField(name)
		reply.End()
	}
	if req.Bool("showPrivileges") {
		reply.StartArrayField("authenticatedUserPrivileges")
		reply.End()
	}
	reply.End()
	return nil
}

func runCmdLineOpts(_ context.Context, req *command.Request, reply *bsonx.Builder) error {
	line := req.Service.CommandLine
	reply.StartArrayField("argv")
	for _, a := range line.Args {
		reply.Elem(bsonx.String(a))
	}
	reply.End()
	if line.Parsed == nil {
		reply.Doc("parsed", bsonx.Empty)
	} else {
		reply.Doc("parsed", line.Parsed)
	}
	return nil
}

func runListCommands(_ context.Context, req *command.Request, reply *bsonx.Builder) error {
	reply.StartDocField("commands")
	for _, d := range req.Service.Commands.Definitions() {
		if d.Hidden || d.Status != feature.Supported || d.TestOnly && !req.Service.TestCommands {
			continue
		}
		reply.StartDocField(d.Name)
		reply.String("help", d.Help)
		reply.Bool("requiresAuth", !d.NoAuth)
		reply.Bool("secondaryOk", d.Writes != feature.Yes)
		reply.Bool("adminOnly", d.AdminOnly == feature.Yes)
		reply.StartArrayField("apiVersions")
		if d.StableAPI == feature.Yes {
			reply.Elem(bsonx.String("1"))
		}
		reply.End()
		reply.StartArrayField("deprecatedApiVersions")
		reply.End()
		reply.End()
	}
	reply.End()
	return nil
}

func runWhatsMyURI(_ context.Context, req *command.Request, reply *bsonx.Builder) error {
	reply.String("you", req.Conn.Remote)
	return nil
}

func runWhatsMySNI(_ context.Context, _ *command.Request, reply *bsonx.Builder) error {
	reply.String("sni", "")
	return nil
}

func runFeatures(_ context.Context, _ *command.Request, reply *bsonx.Builder) error {
	reply.Int32("oidMachine", 0)
	return nil
}

// getLogCommand returns the definition of getLog.
func getLogCommand() command.Definition {
	return command.Definition{
		Name: "getLog", Help: "Returns recent log lines.", Run: runGetLog,
		Properties: command.Properties{
			Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
			Secret: feature.No, AdminOnly: feature.Yes,
		},
	}
}

func runGetLog(_ context.Context, req *command.Request, reply *bsonx.Builder) error {
	v := req.CommandValue()
	if v.Type != bsonx.TypeString {
		return mongoerr.New(mongoerr.TypeMismatch, "Argument to getLog must be of type String; found %s of type %s",
			bsonx.FormatShell(v), v.Type)
	}
	switch name := v.Str(); name {
	case "*":
		reply.StartArrayField("names")
		reply.Elem(bsonx.String("global"))
		reply.Elem(bsonx.String(command.StartupWarning))
		reply.End()
		return nil
	case "global":
		lines, total := req.Service.Log.Lines()
		appendLines(reply, lines, total)
		return nil
	case command.StartupWarning:
		lines, total := req.Service.Log.StartupWarnings()
		appendLines(reply, lines, total)
		return nil
	default:
		return mongoerr.New(mongoerr.OperationFailed, "No log named '%s'", name)
	}
}

func appendLines(reply *bsonx.Builder, lines []string, total int) {
	reply.Int32("totalLinesWritten", int32(total))
	reply.StartArrayField("log")
	for _, l := range lines {
		reply.Elem(bsonx.String(l))
	}
	reply.End()
}
