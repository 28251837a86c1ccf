package command

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// searchIndexCommands returns the commands of Atlas Search, as a server without it answers them.
func searchIndexCommands() []Definition {
	var defs []Definition
	named := []Field{{Name: "id", Type: String}, {Name: "name", Type: String}}
	for _, def := range []Definition{
		{Name: "createSearchIndexes", Fields: []Field{{Name: "indexes", Type: Array, Required: true, Check: checkSearchIndexes}}},
		{Name: "updateSearchIndex", Fields: append(slices.Clone(named), Field{Name: "definition", Type: Object, Required: true})},
		{Name: "dropSearchIndex", Fields: named},
	} {
		defs = append(defs, Definition{
			Name: def.Name, Help: "Refused: there is no Atlas Search.", Hidden: true, Fields: def.Fields,
			Refuse: func(req *Request) error {
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

// checkSearchIndexes judges the specifications of search indexes.
func checkSearchIndexes(name string, v bsonx.Value) error {
	path := "createSearchIndexes." + name
	docs, err := docsOf(path, v)
	for i := 0; i < len(docs) && err == nil; i++ {
		err = ParseFields(path, docs[i], searchIndexFields, func(int, bsonx.Value) error { return nil })
	}
	return err
}

var searchIndexFields = []Field{{Name: "definition", Type: Object, Required: true}, {Name: "name", Type: String}, {Name: "type", Type: String}}
