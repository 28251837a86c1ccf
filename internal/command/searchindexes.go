package command

import "github.com/sheafdb/sheaf/internal/mongoerr"

// searchIndexCommands returns the commands of Atlas Search, as a server without it answers them.
func searchIndexCommands() []Definition {
	var defs []Definition
	for _, name := range []string{"createSearchIndexes", "updateSearchIndex", "dropSearchIndex"} {
		defs = append(defs, Definition{
			Name: name, Help: "Refused: there is no Atlas Search.", Loose: true, Hidden: true, CommandField: String,
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
