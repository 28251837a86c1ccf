package serverinfo

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

var currentOpOptions = []string{
	"idleConnections", "idleSessions", "allUsers", "localOps", "truncateOps",
	"idleCursors", "backtrace", "targetAllNodes",
}

// CurrentOpDefinition returns the definition of $currentOp.
func CurrentOpDefinition() parsing.Definition {
	return parsing.Definition{
		Name: "$currentOp", Parse: parseCurrentOp,
		Safety:     parsing.Safety{Writes: feature.No, Transactions: feature.No, StableAPI: parsing.NoUse},
		Properties: parsing.OfReport(parsing.FromServer), Inside: parsing.InsideNothing,
		NotOverCollection: mongoerr.New(mongoerr.InvalidNamespace,
			"$currentOp must be run against the 'admin' database with {aggregate: 1}"),
	}
}

// parseCurrentOp compiles $currentOp, which lists the running operations.
func parseCurrentOp(arg bsonx.Value, _ parsing.Options) ([]parsing.Stage, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(mongoerr.TypeMismatch, "$currentOp options must be specified in an object, but found: %s", arg.Type)
	}
	for it := arg.Doc().Iter(); it.Next(); {
		name, v := string(it.Key()), it.Value()
		if !slices.Contains(currentOpOptions, name) {
			return nil, mongoerr.New(mongoerr.FailedToParse, "Unrecognized option '%s' in $currentOp stage.", name)
		}
		if v.Type != bsonx.TypeBool {
			code := mongoerr.FailedToParse
			if name == "allUsers" || name == "localOps" {
				code = mongoerr.TypeMismatch
			}
			return nil, mongoerr.New(code, "The '%s' parameter of the $currentOp stage must be a boolean value, but found: %s", name, v.Type)
		}
	}
	return []parsing.Stage{&stage{"$currentOp", arg.Doc().Clone(), source.Diagnostics.CurrentOp}}, nil
}
