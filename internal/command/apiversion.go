package command

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/session"
)

// CodeAPIWithoutVersion is the error for API arguments without an API version.
const CodeAPIWithoutVersion = mongoerr.Code(4886600)

// API returns the request's stable API parameters: apiVersion, apiStrict and apiDeprecationErrors.
func (g *Generic) API() session.API {
	return session.API{Version: g.APIVersion, Strict: g.APIStrict.String(), Deprecation: g.APIDeprecation.String()}
}

// CheckStrictField returns an error if the request sets apiStrict and the field f is not in the
// stable API.
func CheckStrictField(f *Field, g *Generic) error {
	if f.Unstable && g.APIStrict == BoolTrue {
		return mongoerr.New(mongoerr.APIStrictError, "BSON field '%s' is not allowed with apiStrict:true.", f.Name)
	}
	return nil
}

// CheckStrictStages returns an error if the request sets apiStrict and a stage of the pipeline is
// not in the stable API.
func CheckStrictStages(stages bsonx.Value, g *Generic) error {
	if g.APIStrict != BoolTrue {
		return nil
	}
	return pipeline.EachStage(stages, func(stage *parsing.Definition, arg bsonx.Value) error {
		if stage.StableAPI.Has(arg) {
			return nil
		}
		return mongoerr.New(mongoerr.APIStrictError,
			"stage %s is not allowed with 'apiStrict: true' in API Version %s", stage.Name, g.APIVersion)
	})
}
