package ddl

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// SearchIndexCommands returns the commands of Atlas Search. They fail as on a server without Atlas
// Search.
func SearchIndexCommands() []command.Definition {
	var defs []command.Definition
	named := []command.Field{{Name: "id", Type: command.String}, {Name: "name", Type: command.String}}
	for _, def := range []command.Definition{
		{
			Name:   "createSearchIndexes",
			Fields: []command.Field{{Name: "indexes", Type: command.Array, Required: true, Check: checkSearchIndexes}},
		},
		{
			Name: "updateSearchIndex",
			Fields: append(slices.Clone(named),
				command.Field{Name: "definition", Type: command.Object, Required: true}),
		},
		{
			Name: "dropSearchIndex", Fields: named,
		},
	} {
		defs = append(defs, command.Definition{
			Name: def.Name, Help: "Refused: there is no Atlas Search.", Hidden: true, Fields: def.Fields,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.No,
			},
			Refuse: func(req *command.Request) error {
				if _, err := req.Collection(); err != nil {
					return err
				}
				return mongoerr.New(mongoerr.SearchNotEnabled, "Using Atlas Search Database Commands and the $listSearchIndexes aggregation "+
					"stage requires additional configuration. Please connect to Atlas or an AtlasCLI local deployment to enable. For more "+
					"information on how to connect, see https://dochub.mongodb.org/core/atlas-cli-deploy-local-reqs.")
			},
		})
	}
	return defs
}

// checkSearchIndexes checks the specifications in the argument indexes of createSearchIndexes.
func checkSearchIndexes(name string, v bsonx.Value) error {
	path := "createSearchIndexes." + name
	docs, err := command.DocsOf(path, v)
	for i := 0; i < len(docs) && err == nil; i++ {
		err = command.ParseFields(path, docs[i], searchIndexFields, func(int, bsonx.Value) error { return nil })
	}
	return err
}

var searchIndexFields = []command.Field{
	{Name: "definition", Type: command.Object, Required: true},
	{Name: "name", Type: command.String},
	{Name: "type", Type: command.String},
}
