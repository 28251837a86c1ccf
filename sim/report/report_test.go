package report_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/sim/load"
	"github.com/sheafdb/sheaf/sim/report"
	"github.com/sheafdb/sheaf/sim/result"
)

func text(t *testing.T, write func(b *strings.Builder) error) string {
	t.Helper()
	b := &strings.Builder{}
	if err := write(b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// want checks that a text contains all parts, in this order.
func want(t *testing.T, got string, parts ...string) {
	t.Helper()
	rest := got
	for _, part := range parts {
		i := strings.Index(rest, part)
		if i < 0 {
			t.Fatalf("%q is missing, or not in its place, in\n%s", part, got)
		}
		rest = rest[i+len(part):]
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	r := synthetic(1, 1)
	got := text(t, func(b *strings.Builder) error { return report.Table(b, r) })
	want(t, got, "carts and queues · Sheaf 0.3.0", "embedded", "FAILURES: cart-reserve", "scenario", "runtime", "mean",
		"std dev", "p75", "p95", "p99", "min", "max", "users",
		"ok", "failed", "errors", "check", "cart-reserve", "25.1 s", "5000", "no stock: product #", "ok",
		"  write", "queue-publish", "7500")
	lines := strings.Split(got, "\n")
	header := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "scenario") })
	end := strings.Index(lines[header], "mean") + len("mean")
	if row := []rune(lines[header+1]); string(row[end-3:end]) != " ms" {
		t.Errorf("the columns are not in line:\n%s", got)
	}
}

// TestReadable: each time has a suitable unit.
func TestReadable(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0", 65600 * time.Nanosecond: "65.6 µs", 812 * time.Microsecond: "812 µs",
		1234 * time.Microsecond: "1.23 ms", 45600 * time.Microsecond: "45.6 ms",
		507 * time.Second: "8.45 min", 90 * time.Second: "90.0 s",
		1500 * time.Millisecond: "1.50 s", 3 * time.Hour: "180 min",
	} {
		if got := report.Readable(d); got != want {
			t.Errorf("%d ns is %q, want %q", d.Nanoseconds(), got, want)
		}
	}
}

// TestNotes checks that the report of a run begins with one note for each problem of the run. The
// run has a problem of each kind.
func TestNotes(t *testing.T) {
	t.Parallel()
	r := synthetic(1, 1)
	r.Partial = "interrupted"
	r.Agents = []result.Agent{{Address: "b:1", Lost: "no answer since second 12"}}
	bad, slow := r.Scenarios[0], r.Scenarios[1]
	bad.Check = result.Check{Done: true, Total: 3, Violations: []string{"stock | adds up: 7, not 8"}}
	slow.RuntimeSeconds = 61.9
	slow.Slot(30).Ended = 900
	for range 1000 {
		slow.Lateness.Add(3 * time.Millisecond)
	}
	slow.Check = result.Check{}
	order := []string{
		"WRONG", "cart-reserve: 3 violations", "PARTIAL", "interrupted", "PARTIAL", "agent b:1", "UNCHECKED", "OVERLOADED", "queue-publish took 61.9 s for a schedule of 25.0 s; 900 of 7500 users (12.0 %)",
		"LATE", "queue-publish by 3.00 ms (3.00 ms at most)", "FAILURES",
	}
	want(t, text(t, func(b *strings.Builder) error { return report.Table(b, r) }),
		append(order, "WRONG: 3", "not done")...)
	got := text(t, func(b *strings.Builder) error { return report.Markdown(b, r, r) })
	want(t, got, append(order, "| scenario |", "| ---: |", "<details>", "- Server: Sheaf 0.3.0",
		"- Machine: Example CPU, 2 cores, 8.0 GiB", "### carts and queues")...)
	want(t, got, `stock \| adds up`)
	if strings.Contains(text(t,
		func(b *strings.Builder) error { return report.Table(b, synthetic(1, 1)) }), "OVERLOADED") {
		t.Error("a run that kept its schedule is called overloaded")
	}
}

func TestLimit(t *testing.T) {
	t.Parallel()
	r := synthetic(1, 1)
	r.Limit = &result.Limit{
		Over:   100,
		Probes: []result.Probe{{Users: 100, RuntimeSeconds: 30, P99Millis: 5000, Why: "p99 is 5000.0 ms"}},
	}
	want(t, text(t, func(b *strings.Builder) error { return report.Table(b, r) }), "Greatest load: Even 100 users",
		"kept up", "30.000", "no: p99 is")
	want(t, text(t, func(b *strings.Builder) error { return report.Markdown(b, r) }),
		"**Greatest load**: Even 100 users", "| 100 | 30.000 |")
}

func TestBook(t *testing.T) {
	t.Parallel()
	names := []string{
		"queue-publish", "queue-fetch-fifo", "topic-publish", "topic-listen", "metadata-find", "category-children",
		"category-subtree", "cart-reserve", "cart-checkout", "theater",
		"transfer", "timeseries", "slice", "slice-plain", "i18n-add", "i18n-remove",
	}
	for _, name := range names {
		rows := report.BookRows(name)
		if len(rows) != 2 || rows[0].Engine != "MMAP" || rows[1].Engine != "WiredTiger" {
			t.Errorf("%s: %v", name, rows)
		}
		for _, r := range rows {
			if r.Min > r.P75 || r.P75 > r.P95 || r.P95 > r.P99 || r.P99 > r.Max || r.Mean > r.Max {
				t.Errorf("%s: not in order: %+v", name, r)
			}
		}
	}
	order := []string{
		"another machine and era", "3.0.1", "cart-reserve", "this run", "200 × 25",
		"successfully checkout cart", "book, MMAP", "1000 × 25", "88.241", "book, WiredTiger",
		"93681.381", "publish_to_queues",
	}
	want(t, text(t, func(b *strings.Builder) error { return report.BookTable(b, synthetic(1, 1)) }), order...)
	want(t, text(t, func(b *strings.Builder) error { return report.BookMarkdown(b, synthetic(1, 1)) }),
		"another machine", "| 88.241 |")
	none := synthetic(1, 1)
	none.Scenarios[0].Name, none.Scenarios[1].Name = "own", "other"
	want(t, text(t, func(b *strings.Builder) error { return report.BookTable(b, none) }), "published nothing")
}

// TestLive: if the output is not a terminal, only a few lines are written.
func TestLive(t *testing.T) {
	t.Parallel()
	got := text(t, func(b *strings.Builder) error {
		l := report.NewLive(b)
		for i := range 50 {
			n := int64(i * 250)
			l.Show(load.Progress{
				Elapsed:  time.Duration(i) * 250 * time.Millisecond,
				Schedule: 25 * time.Second, Parts: []load.PartProgress{
					{
						Label: "cart", Started: n, Ended: n, Failed: 2,
						P50: 1500 * time.Microsecond, P99: 2 * time.Second,
					},
				},
			})
		}
		l.Finish()
		return nil
	})
	want(t, got, "5 s of 25 s: cart 5000 started, 5000 ended, 2 failed, 1000/s, p50 1.50 ms, p99 2.00 s\n", "10 s of 25 s")
	if n := strings.Count(got, "\n"); n != 2 {
		t.Errorf("%d lines:\n%s", n, got)
	}
}

// TestLiveTerminal: on a terminal, the view replaces the preceding view, is not wider than the
// terminal, and is removed at the end.
func TestLiveTerminal(t *testing.T) {
	t.Parallel()
	got := text(t, func(b *strings.Builder) error {
		l := report.NewLiveTerminal(b, 50)
		for i := range 14 {
			n := int64(i * 250)
			l.Show(load.Progress{
				Elapsed:  time.Duration(i) * 250 * time.Millisecond,
				Schedule: 3 * time.Second, Parts: []load.PartProgress{
					{Label: "cart", Started: n, Ended: n / 2, P50: time.Millisecond, P99: time.Second},
					{Label: "a-scenario-with-a-long-name", Started: n, Ended: n},
				},
			})
		}
		l.Finish()
		return nil
	})
	want(t, got, "0 s of 3 s, 3 s left", "started", "cart", "\x1b[4A\x1b[J", "50%", "1 s left",
		"0.2 s over the schedule of 3 s: 1625 users")
	if !strings.HasSuffix(got, "\r\x1b[4A\x1b[J") {
		t.Errorf("the view is still there: %q", got[len(got)-40:])
	}
	for line := range strings.SplitSeq(got, "\n") {
		if line = strings.TrimPrefix(line, "\r\x1b[4A\x1b[J"); len([]rune(line)) > 50 {
			t.Errorf("%q is too wide", line)
		}
	}
}
