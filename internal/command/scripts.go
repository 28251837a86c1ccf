package command

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/js"
	"github.com/sheafdb/sheaf/internal/plan"
	"github.com/sheafdb/sheaf/internal/storage"
)

// scripting is the scope of expressions without a command's let. It tells the JavaScript in them for which operation it
// runs. The commands of a connection share one; a cursor that stays open takes it along.
type scripting struct {
	running interrupt.Running
	vars    *expr.Vars
	db      string
	// at is the cluster time that the command's expressions see, 0 until one asks.
	at storage.Stamp
}

// BaseVars is the scope of a command's expressions without its let.
func (r *Request) BaseVars() *expr.Vars {
	s := r.Conn.scripting
	if s == nil {
		s = &scripting{}
		service := r.Service
		s.vars = (*expr.Vars)(nil).WithScripts(js.Options{
			Disabled: r.Service.NoScripting, Running: &s.running,
			Stored: func() ([]bsonx.Doc, error) { return service.StoredScripts(s.running.Context(), s.db) },
		})
		if service.Replicates() {
			s.vars = s.vars.WithClusterTime(func() bsonx.Value {
				if s.at == 0 {
					s.at = service.Order.Visible()
				}
				return StampValue(s.at)
			})
		}
		r.Conn.scripting = s
	}
	s.running.Set(r.Op)
	s.db = r.DB
	s.at = 0
	return s.vars
}

// scriptsCollection has the functions that clients saved for the JavaScript of a database.
const scriptsCollection = "system.js"

// StoredScripts returns the documents of a database's system.js.
func (s *Service) StoredScripts(ctx context.Context, db string) ([]bsonx.Doc, error) {
	c := s.Store.Lookup(db, scriptsCollection)
	if c == nil || c.Kind != catalog.KindCollection {
		return nil, nil
	}
	all, err := filter.Parse(bsonx.Empty, filter.Options{})
	if err != nil {
		return nil, err
	}
	reader := exec.NewReader(s.Store.Engine())
	defer reader.Close()
	run, err := s.Planner.Find(ctx, &plan.Query{DB: db, Name: scriptsCollection, Coll: c, Filter: all}, reader)
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
