package read

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/js"
	"github.com/sheafdb/sheaf/internal/oplog"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/storage"
)

// Scripting provides the expressions of a command with JavaScript and the cluster time. It tells
// JavaScript functions for which operation they run. The commands of a connection share one
// Scripting; a cursor that stays open keeps it.
type Scripting struct {
	// Running is the operation that the JavaScript runs for.
	Running interrupt.Running
	engine  *Engine
	vars    *expr.Vars
	db      string
	// at is the cluster time that the command's expressions see. It is 0 until an expression reads
	// it.
	at storage.Stamp
}

// NewScripting returns the scope for the commands of a connection.
func (e *Engine) NewScripting() *Scripting {
	s := &Scripting{engine: e}
	s.vars = expressions.Scope().WithScripts(js.Options{
		Disabled: e.NoScripting, Running: &s.Running,
		Stored: func() ([]bsonx.Doc, error) { return e.StoredScripts(s.Running.Context(), s.db) },
	})
	if e.Order != nil {
		s.vars = s.vars.WithClusterTime(s.clusterTime)
	}
	return s
}

// clusterTime returns the same cluster time for all expressions of a command.
func (s *Scripting) clusterTime() bsonx.Value {
	if s.at == 0 {
		s.at = s.engine.Order.Visible()
	}
	return oplog.Timestamp(s.at)
}

// Begin returns the scope for a command on db whose operation is ctx.
func (s *Scripting) Begin(ctx context.Context, db string) *expr.Vars {
	s.Running.Set(ctx)
	s.db = db
	s.at = 0
	return s.vars
}

// scriptsCollection holds the JavaScript functions that clients have saved in a database.
const scriptsCollection = "system.js"

// StoredScripts returns the documents of a database's system.js.
func (e *Engine) StoredScripts(ctx context.Context, db string) ([]bsonx.Doc, error) {
	c := e.Store.Lookup(db, scriptsCollection)
	if c == nil || c.Kind != catalog.KindCollection {
		return nil, nil
	}
	all, err := filter.Parse(bsonx.Empty, filter.Options{})
	if err != nil {
		return nil, err
	}
	reader := exec.NewReader(e.Store.Newest())
	defer reader.Close()
	run, err := e.Planner.Find(ctx, &query.Query{DB: db, Name: scriptsCollection, Coll: c, Filter: all}, reader)
	if err != nil {
		return nil, err
	}
	defer run.Close()
	var out []bsonx.Doc
	for {
		row, err := run.Next(ctx)
		if err != nil || row == nil {
			return out, err
		}
		out = append(out, row.Doc.Clone())
	}
}
