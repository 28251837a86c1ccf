package command

import (
	"time"

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
