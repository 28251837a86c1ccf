package crud

import (
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/table"
)

// filteredQuery returns a query with the command's fields query and collation.
func filteredQuery(req *command.Request, name string, c *table.Collection) (*query.Query, error) {
	sc, err := command.CollatedScope(req, c)
	if err != nil {
		return nil, err
	}
	f, err := sc.FilterOrAll(req.Doc("query"))
	if err != nil {
		return nil, err
	}
	return &query.Query{
		DB: req.DB, Name: name, Coll: c, Filter: f, Collation: sc.Collation,
		CollationSpec: read.SpecOf(req.Get("collation")),
	}, nil
}

// hintedQuery is filteredQuery for a command that also has a hint.
func hintedQuery(req *command.Request, name string, c *table.Collection) (*query.Query, error) {
	if err := read.CheckHint(req.Get("hint")); err != nil {
		return nil, err
	}
	q, err := filteredQuery(req, name, c)
	if err != nil {
		return nil, err
	}
	q.Hint = req.Get("hint")
	return q, nil
}
