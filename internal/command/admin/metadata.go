package admin

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/table"
)

var apiParameterFields = []command.Field{
	{Name: "version", Type: command.String, Required: true},
	{Name: "strict", Type: command.OptionalBool},
	{Name: "deprecationErrors", Type: command.OptionalBool},
}

// MetadataCommands returns the definition of validateDBMetadata.
func MetadataCommands() []command.Definition {
	return []command.Definition{{
		Name: "validateDBMetadata", Help: "Lists views and indexes that a version of the stable API does not have.", Run: runValidateMetadata,
		Properties: command.Properties{
			Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
			Secret: feature.No, AdminOnly: feature.No,
		},
		Fields: []command.Field{
			{Name: "apiParameters", Type: command.Object, Required: true, Fields: apiParameterFields},
			{Name: "db", Type: command.String},
			{Name: "collection", Type: command.String},
		},
	}}
}

// maxMetadataErrors is the size in bytes from which the list of errors is cut off and hasMoreErrors
// is set. MongoDB cuts it off at limits.DocumentBytes.
const maxMetadataErrors = 12 << 20

func runValidateMetadata(_ context.Context, req *command.Request, reply *bsonx.Builder) error {
	var g command.Generic
	err := command.ParseFields("validateDBMetadata.apiParameters", req.Doc("apiParameters"), apiParameterFields,
		func(i int, v bsonx.Value) error {
			switch name := apiParameterFields[i].Name; {
			case name == "version":
				g.APIVersion = v.Str()
			case name == "strict" && v.Truthy():
				g.APIStrict = command.BoolTrue
			}
			return nil
		})
	if err != nil {
		return err
	}
	more := false
	reply.StartArrayField("apiVersionErrors")
	for _, e := range req.Service.Store.Catalog().All() {
		if db := req.String("db"); db != "" && db != e.DB ||
			req.Has("collection") && req.String("collection") != e.Name {
			continue
		}
		err := checkMetadata(e, &g)
		if err == nil {
			continue
		}
		if more = reply.Len() > maxMetadataErrors; more {
			break
		}
		code := mongoerr.CodeOf(err)
		reply.Elem(bsonx.Document(bsonx.NewDoc("ns", e.Namespace(), "code", int32(code), "codeName",
			code.Name(), "errmsg", err.Error())))
	}
	reply.End()
	if more {
		reply.Bool("hasMoreErrors", true)
	}
	return nil
}

// checkMetadata returns an error for the first property of a collection or view that is not in the
// stable API.
func checkMetadata(e *table.Entry, g *command.Generic) error {
	if g.APIVersion != "1" {
		return mongoerr.New(mongoerr.APIVersionError, "Cannot accept API version %s", g.APIVersion)
	}
	if g.APIStrict != command.BoolTrue {
		return nil
	}
	for _, ix := range e.Indexes {
		if _, found := index.Having(ix.Key, (*index.Definition).Unstable); found {
			return mongoerr.New(mongoerr.APIStrictError,
				"The index with name %s is not allowed in API version 1.", ix.Name)
		}
	}
	return command.CheckStrictStages(e.Options.Lookup("pipeline"), g)
}
