package command

import (
	"runtime"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/js"
	"github.com/sheafdb/sheaf/internal/limits"
)

// The version of MongoDB that Sheaf implements and the name of the storage engine, for buildInfo.
const (
	CompatibleVersion = "8.0.0"
	FeatureVersion    = "8.0"
	StorageEngineName = "pebble"
)

// AppendBuild appends the fields of buildInfo.
func AppendBuild(reply *bsonx.Builder, build Build) {
	reply.String("version", CompatibleVersion)
	reply.String("gitVersion", build.Revision)
	reply.StartArrayField("modules")
	reply.End()
	reply.String("allocator", "go")
	reply.String("javascriptEngine", js.EngineName())
	reply.String("sysInfo", "deprecated")
	reply.StartArrayField("versionArray")
	for _, n := range [...]int32{8, 0, 0, 0} {
		reply.Elem(bsonx.Int32(n))
	}
	reply.End()
	reply.StartDocField("openssl")
	reply.String("running", "Go crypto/tls")
	reply.String("compiled", "Go crypto/tls")
	reply.End()
	reply.StartDocField("buildEnvironment")
	reply.String("distmod", "")
	reply.String("distarch", Machine())
	reply.String("cc", runtime.Version())
	reply.String("target_arch", Machine())
	reply.String("target_os", targetOS())
	reply.End()
	reply.Int32("bits", 64)
	reply.Bool("debug", false)
	reply.Int32("maxBsonObjectSize", limits.DocumentBytes)
	reply.StartArrayField("storageEngines")
	reply.Elem(bsonx.String(StorageEngineName))
	reply.End()
	reply.StartDocField("sheaf")
	reply.String("version", build.Version)
	reply.End()
}

// Machine returns the processor architecture with the name that uname uses.
func Machine() string {
	switch runtime.GOARCH {
	case "amd64":
		return "x86_64"
	case "arm64":
		return "aarch64"
	default:
		return runtime.GOARCH
	}
}

func targetOS() string {
	if runtime.GOOS == "darwin" {
		return "macOS"
	}
	return runtime.GOOS
}
