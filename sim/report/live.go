package report

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/sheafdb/sheaf/sim/load"
)

// linePace is the time between two lines of a log. rateWindow is the time over which rates are
// averaged.
const (
	linePace   = 5 * time.Second
	rateWindow = time.Second
)

// Live shows the progress of a run. On a terminal it redraws a view. To a file or a pipe it writes
// a line every few seconds.
type Live struct {
	out   io.Writer
	width func() int // returns the width of the terminal; nil if out is not a terminal
	bar   *progressbar.ProgressBar
	drawn int // the number of lines on the screen

	said   time.Duration // the elapsed time at which the last line was written
	rates  []float64     // for each part of the load, how many users ended per second
	marked time.Duration // the elapsed time at which the rates were last measured
	ended  []int64       // for each part of the load, how many users had ended at that time
}

// NewLive returns a Live that writes to out.
func NewLive(out io.Writer) *Live {
	l := &Live{out: out}
	if f, ok := out.(interface{ Fd() uintptr }); ok && term.IsTerminal(int(f.Fd())) {
		l.width = func() int {
			width, _, err := term.GetSize(int(f.Fd()))
			if err != nil || width < 20 {
				return 80
			}
			return width
		}
	}
	return l
}

// Show shows the progress of a run. It can be the Report of a load.Config. It is not safe for
// concurrent use.
func (l *Live) Show(p load.Progress) {
	l.measure(p)
	if l.width != nil {
		l.draw(p)
		return
	}
	if p.Elapsed-l.said < linePace {
		return
	}
	l.said = p.Elapsed
	parts := make([]string, len(p.Parts))
	for i, part := range p.Parts {
		parts[i] = part.Label + " " + l.counts(i, part)
	}
	fmt.Fprintf(l.out, "%.0f s of %.0f s: %s\n", p.Elapsed.Seconds(), p.Schedule.Seconds(), strings.Join(parts, "; "))
}

// Finish removes the view from the screen, before the report is printed.
func (l *Live) Finish() {
	if l.drawn > 0 {
		fmt.Fprint(l.out, l.home())
		l.drawn = 0
	}
}

// measure computes the rates, at most once in each rateWindow.
func (l *Live) measure(p load.Progress) {
	if len(l.ended) == len(p.Parts) && p.Elapsed-l.marked < rateWindow {
		return
	}
	ended, rates := make([]int64, len(p.Parts)), make([]float64, len(p.Parts))
	for i, part := range p.Parts {
		ended[i] = part.Ended
		before := int64(0)
		if i < len(l.ended) {
			before = l.ended[i]
		}
		if dt := (p.Elapsed - l.marked).Seconds(); dt > 0 {
			rates[i] = float64(part.Ended-before) / dt
		}
	}
	l.ended, l.rates, l.marked = ended, rates, p.Elapsed
}

func (l *Live) counts(i int, p load.PartProgress) string {
	return fmt.Sprintf("%d started, %d ended, %d failed, %.0f/s, p50 %s, p99 %s", p.Started, p.Ended, p.Failed,
		l.rates[i], span(p.P50), span(p.P99))
}

// home returns the control codes that move the cursor to the first line of the view and clear the
// screen from there.
func (l *Live) home() string { return fmt.Sprintf("\r\x1b[%dA\x1b[J", l.drawn) }

func (l *Live) draw(p load.Progress) {
	width := l.width() - 1
	lines := [][]string{{"", "started", "ended", "failed", "rate/s", "p50", "p99"}}
	for i, part := range p.Parts {
		lines = append(lines, []string{
			part.Label, fmt.Sprint(part.Started), fmt.Sprint(part.Ended), fmt.Sprint(part.Failed),
			fmt.Sprintf("%.0f", l.rates[i]), span(part.P50), span(part.P99),
		})
	}
	b := &strings.Builder{}
	grid(b, lines, len(lines[0]))
	view := strings.TrimRight(l.render(p, width)+"\n"+b.String(), "\n")
	if l.drawn > 0 {
		fmt.Fprint(l.out, l.home())
	}
	l.drawn = 0
	for line := range strings.SplitSeq(view, "\n") {
		fmt.Fprintln(l.out, cut(line, width))
		l.drawn++
	}
}

// render draws the progress bar. After the schedule, the bar is full, so text says how many users
// have not ended.
func (l *Live) render(p load.Progress, width int) string {
	if p.Elapsed >= p.Schedule {
		open := int64(0)
		for _, part := range p.Parts {
			open += part.Started - part.Ended
		}
		return fmt.Sprintf("%.1f s over the schedule of %.0f s: %d users have not ended", (p.Elapsed - p.Schedule).Seconds(), p.Schedule.Seconds(), open)
	}
	if l.bar == nil {
		l.bar = progressbar.NewOptions64(p.Schedule.Milliseconds(), progressbar.OptionSetWriter(io.Discard),
			progressbar.OptionSetWidth(max(10, min(50, width-40))),
			progressbar.OptionSetElapsedTime(false), progressbar.OptionSetPredictTime(false))
	}
	_ = l.bar.Set64(p.Elapsed.Milliseconds())
	return fmt.Sprintf("%s  %.0f s of %.0f s, %.0f s left", strings.TrimSpace(l.bar.String()), p.Elapsed.Seconds(),
		p.Schedule.Seconds(), (p.Schedule - p.Elapsed).Seconds())
}

func cut(line string, width int) string {
	if utf8.RuneCountInString(line) <= width {
		return line
	}
	return string([]rune(line)[:width])
}
