package command

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/session"
)

// CodeAPIWithoutVersion is the error for API arguments without an API version.
const CodeAPIWithoutVersion = mongoerr.Code(4886600)

// API returns what the request says of the stable API.
func (g *Generic) API() session.API {
	return session.API{Version: g.APIVersion, Strict: g.APIStrict.String(), Deprecation: g.APIDeprecation.String()}
}

// CheckStrictField refuses an argument that is outside the stable API under apiStrict.
func CheckStrictField(f *Field, g *Generic) error {
	if f.Unstable && g.APIStrict == BoolTrue {
		return mongoerr.New(mongoerr.APIStrictError, "BSON field '%s' is not allowed with apiStrict:true.", f.Name)
	}
	return nil
}

// checkStrictSort refuses a sort by metadata that is outside the stable API.
func checkStrictSort(sort bsonx.Doc, vars *expr.Vars) error {
	for it := sort.Iter(); it.Next(); {
		if it.Value().Type != bsonx.TypeDocument {
			continue
		}
		if kind := it.Value().Doc().Lookup("$meta"); kind.Type == bsonx.TypeString {
			if err := vars.CheckMeta(kind.Str()); err != nil {
				return err
			}
		}
	}
	return nil
}

// CheckStrictStages refuses stages that are outside the stable API under apiStrict.
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
