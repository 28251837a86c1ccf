package report

import "io"

// NewLiveTerminal returns a Live that treats out as a terminal with the given width.
func NewLiveTerminal(out io.Writer, width int) *Live {
	return &Live{out: out, width: func() int { return width }}
}
