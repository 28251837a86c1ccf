package command

import (
	"time"

	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/js"
)

// scripts are the limits of the JavaScript that a command runs.
func (r *Request) scripts() js.Options {
	opts := js.Options{Disabled: r.Service.NoScripting}
	if ms := r.Generic.MaxTimeMillis; ms > 0 {
		opts.Deadline = r.Now.Add(time.Duration(ms) * time.Millisecond)
	}
	return opts
}

// baseVars is the scope of a command's expressions without its let: nil, unless JavaScript has other limits than the
// usual ones.
func (r *Request) baseVars() *expr.Vars {
	opts := r.scripts()
	if !opts.Disabled && opts.Deadline.IsZero() {
		return nil
	}
	return (*expr.Vars)(nil).WithScripts(opts)
}
