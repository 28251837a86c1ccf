package main

import (
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// mongoNames maps flags to paths in the configuration that the command getCmdLineOpts shows. If
// MongoDB has such an option, the path is MongoDB's. Flags without a path here are shown under
// "sheaf".
var mongoNames = map[string]string{
	"dir":                  "storage.dbPath",
	"bind":                 "net.bindIp",
	"port":                 "net.port",
	"unix-socket":          "net.unixDomainSocket.path",
	"max-connections":      "net.maxIncomingConnections",
	"log-file":             "systemLog.path",
	"log-rotate":           "systemLog.logRotate",
	"slow-ms":              "operationProfiling.slowOpThresholdMs",
	"replSet":              "replication.replSet",
	"oplog-size":           "replication.oplogSize",
	"enable-test-commands": "setParameter.enableTestCommands",
	"no-scripting":         "security.noscripting",
	"config":               "config",
}

// parsedOptions returns the flags that are not at their defaults, whether they come from the
// command line, the environment or the configuration file.
func parsedOptions(flags *pflag.FlagSet) bson.D {
	var doc bson.D
	flags.Visit(func(f *pflag.Flag) {
		name, ok := mongoNames[f.Name]
		if !ok {
			name = "sheaf." + f.Name
		}
		doc = place(doc, strings.Split(name, "."), flagValue(f))
	})
	return doc
}

// place puts a value into doc at a path of nested documents.
func place(doc bson.D, path []string, v any) bson.D {
	if len(path) == 1 {
		return append(doc, bson.E{path[0], v})
	}
	for i := range doc {
		if doc[i].Key == path[0] {
			inner, _ := doc[i].Value.(bson.D)
			doc[i].Value = place(inner, path[1:], v)
			return doc
		}
	}
	return append(doc, bson.E{path[0], place(nil, path[1:], v)})
}

func flagValue(f *pflag.Flag) any {
	text := f.Value.String()
	switch f.Value.Type() {
	case "bool":
		return text == "true"
	case "int":
		if n, err := strconv.Atoi(text); err == nil {
			return int32(n)
		}
	}
	return text
}
