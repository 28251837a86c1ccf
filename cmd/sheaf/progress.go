package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress shows the progress of a transfer on a terminal, with rate and remaining time.
type progress struct {
	bar     *progressbar.ProgressBar // nil if the output is not a terminal
	started time.Time
	held    int64 // the steps that the bar does not show yet
}

// firstShown is the time after which a bar is drawn. A rate before that would be meaningless,
// because the first read fills a buffer within microseconds.
const firstShown = 600 * time.Millisecond

// newProgress returns a progress bar that is shown if out is a terminal. A negative number of steps
// means unknown.
func newProgress(out io.Writer, quiet bool, steps int64, countsBytes bool) *progress {
	if quiet || !isTerminal(out) {
		return &progress{}
	}
	bar := progressbar.NewOptions64(steps,
		progressbar.OptionSetWriter(out),
		progressbar.OptionShowBytes(countsBytes), // a bar that counts bytes also shows bytes per second
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

func (p *progress) shown() bool { return p.bar != nil && time.Since(p.started) >= firstShown }

// showRate makes a bar that counts documents show documents per second. A bar of bytes already
// shows bytes per second.
func showRate(documents bool) progressbar.Option {
	if documents {
		return progressbar.OptionShowIts()
	}
	return func(*progressbar.ProgressBar) {}
}

// isTerminal reports whether out is a terminal.
func isTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// documents shows how many documents were transferred so far.
func (p *progress) documents(n int64) {
	if p.shown() {
		p.flush()
		p.bar.Describe(fmt.Sprintf("%d documents", n))
	}
}

// set advances the bar to step n.
func (p *progress) set(n int64) {
	if p.shown() {
		_ = p.bar.Set64(n)
	}
}

// reader returns a reader that advances the bar by the bytes that are read from r.
func (p *progress) reader(r io.Reader) io.Reader {
	if p.bar == nil {
		return r
	}
	return io.TeeReader(r, p)
}

// Write advances the bar by the length of b. It implements io.Writer for the method reader.
func (p *progress) Write(b []byte) (int, error) {
	p.held += int64(len(b))
	if p.shown() {
		p.flush()
	}
	return len(b), nil
}

// flush adds the held steps to the bar.
func (p *progress) flush() {
	_ = p.bar.Add64(p.held)
	p.held = 0
}

// clear removes the bar from the screen, so that a line can be printed in its place.
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
