package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress shows how far a transfer is, with rate and time left, where a person looks on.
type progress struct {
	bar     *progressbar.ProgressBar // nil: nobody looks on
	started time.Time
	held    int64 // steps that the bar was not told of yet
}

// firstShown is when a bar is first drawn. A rate of less time says nothing: the first read fills a
// buffer within microseconds.
const firstShown = 600 * time.Millisecond

// newProgress returns a bar of so many steps, of an unknown number if negative, on out if that is a
// terminal.
func newProgress(out io.Writer, quiet bool, steps int64, countsBytes bool) *progress {
	if quiet || !isTerminal(out) {
		return &progress{}
	}
	bar := progressbar.NewOptions64(steps,
		progressbar.OptionSetWriter(out),
		progressbar.OptionShowBytes(countsBytes), // with a rate in bytes
		progressbar.OptionShowCount(),
		progressbar.OptionSetItsString("documents"),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionFullWidth(),
		progressbar.OptionThrottle(100_000_000),
		progressbar.OptionClearOnFinish(),
		showRate(!countsBytes),
	)
	bar.StartWithoutRender()
	return &progress{bar: bar, started: time.Now()}
}

// shown reports whether it is time to draw the bar.
func (p *progress) shown() bool { return p.bar != nil && time.Since(p.started) >= firstShown }

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
	if p.shown() {
		p.flush()
		p.bar.Describe(fmt.Sprintf("%d documents", n))
	}
}

// set moves the bar.
func (p *progress) set(n int64) {
	if p.shown() {
		_ = p.bar.Set64(n)
	}
}

// reader moves the bar by what is read from r.
func (p *progress) reader(r io.Reader) io.Reader {
	if p.bar == nil {
		return r
	}
	return io.TeeReader(r, p)
}

// Write implements io.Writer for reader: it moves the bar by the length of b.
func (p *progress) Write(b []byte) (int, error) {
	p.held += int64(len(b))
	if p.shown() {
		p.flush()
	}
	return len(b), nil
}

// flush tells the bar of the steps that were held back.
func (p *progress) flush() {
	_ = p.bar.Add64(p.held)
	p.held = 0
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
