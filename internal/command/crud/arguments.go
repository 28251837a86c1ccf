package crud

import (
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// keepTimestamps is the argument that stores Timestamp(0, 0) in a new document unchanged. Without
// it the server replaces it by the current time.
const keepTimestamps = "bypassEmptyTsReplacement"

// encryptionInformation is the argument that drivers with Queryable Encryption add to commands.
var encryptionInformation = command.Field{
	Name: "encryptionInformation", Type: command.Object, Strict: true,
	Fields: []command.Field{
		{Name: "type", Type: command.SafeInt},
		{Name: "schema", Type: command.Object, Required: true},
		{Name: "crudProcessed", Type: command.Bool},
	},
}

// isTimeseriesNamespace is the argument with which routers write to the buckets of a time series.
var isTimeseriesNamespace = command.Field{Name: "isTimeseriesNamespace", Type: command.OptionalBool}

// codeNotBuckets is the code of the error for isTimeseriesNamespace on a namespace that is not a
// bucket collection.
const codeNotBuckets = mongoerr.Code(5916400)
