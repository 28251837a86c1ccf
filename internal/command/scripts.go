package command

import (
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/js"
)

// scripting is the scope of expressions without a command's let. It tells the JavaScript in them for which operation it
// runs. The commands of a connection share one; a cursor that stays open takes it along.
type scripting struct {
	running interrupt.Running
	vars    *expr.Vars
}

// baseVars is the scope of a command's expressions without its let.
func (r *Request) baseVars() *expr.Vars {
	s := r.Conn.scripting
	if s == nil {
		s = &scripting{}
		s.vars = (*expr.Vars)(nil).WithScripts(js.Options{Disabled: r.Service.NoScripting, Running: &s.running})
		r.Conn.scripting = s
	}
	s.running.Set(r.Op)
	return s.vars
}
