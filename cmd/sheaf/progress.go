package main

import (
	"fmt"
	"io"
	"os"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress shows how far a transfer is, with rate and time left, where a person looks on.
type progress struct {
	bar *progressbar.ProgressBar // nil: nobody looks on
}

// newProgress returns a bar of so many steps, of an unknown number if negative, on out if that is a terminal.
func newProgress(out io.Writer, quiet bool, steps int64, countsBytes bool) *progress {
	if quiet || !isTerminal(out) {
		return &progress{}
	}
	return &progress{bar: progressbar.NewOptions64(steps,
		progressbar.OptionSetWriter(out),
		progressbar.OptionShowBytes(countsBytes), // with a rate in bytes
		progressbar.OptionShowCount(),
		progressbar.OptionSetItsString("documents"),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionFullWidth(),
		progressbar.OptionThrottle(100_000_000),
		progressbar.OptionClearOnFinish(),
		showRate(!countsBytes),
	)}
}

// showRate shows the documents of a second. A bar of bytes has a rate of its own.
func showRate(documents bool) progressbar.Option {
	if documents {
		return progressbar.OptionShowIts()
	}
	return func(*progressbar.ProgressBar) {}
}

// isTerminal reports whether a person reads what is written.
func isTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// documents says how many documents have passed.
func (p *progress) documents(n int64) {
	if p.bar != nil {
		p.bar.Describe(fmt.Sprintf("%d documents", n))
	}
}

// set moves the bar.
func (p *progress) set(n int64) {
	if p.bar != nil {
		_ = p.bar.Set64(n)
	}
}

// reader moves the bar by what is read from r.
func (p *progress) reader(r io.Reader) io.Reader {
	if p.bar == nil {
		return r
	}
	return io.TeeReader(r, p.bar)
}

// clear takes the bar off the screen, so that a line can be printed in its place.
func (p *progress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

func (p *progress) finish() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
