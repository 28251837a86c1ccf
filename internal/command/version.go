package command

import (
	"runtime"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// maxDocumentSize is how many bytes a document has at most.
const maxDocumentSize = 16 << 20

// What buildInfo announces: the MongoDB version whose behaviour Sheaf implements, beside Sheaf's own.
const (
	CompatibleVersion = "8.0.0"
	featureVersion    = "8.0"
	storageEngineName = "pebble"
)

func appendBuild(reply *bsonx.Builder, build Build) {
	reply.String("version", CompatibleVersion)
	reply.String("gitVersion", build.Revision)
	reply.StartArrayField("modules")
	reply.End()
	reply.String("allocator", "go")
	reply.String("javascriptEngine", "goja")
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
	reply.String("distarch", machine())
	reply.String("cc", runtime.Version())
	reply.String("target_arch", machine())
	reply.String("target_os", targetOS())
	reply.End()
	reply.Int32("bits", 64)
	reply.Bool("debug", false)
	reply.Int32("maxBsonObjectSize", maxDocumentSize)
	reply.StartArrayField("storageEngines")
	reply.Elem(bsonx.String(storageEngineName))
	reply.End()
	reply.StartDocField("sheaf")
	reply.String("version", build.Version)
	reply.End()
}

// machine names the processor as uname does.
func machine() string {
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
