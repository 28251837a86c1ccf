package report_test

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/sim/report"
	"github.com/sheafdb/sheaf/sim/result"
)

// pages returns functions that write the reports for the tests. The browser tests in
// conformance/report use these reports, too.
func pages() map[string]func(w io.Writer) error {
	spoilt := synthetic(3, 1)
	spoilt.Partial = "interrupted after 20 iterations"
	bad, slow := spoilt.Scenarios[0], spoilt.Scenarios[1]
	bad.Check = result.Check{
		Done: true, Total: 2,
		Violations: []string{"stock adds up: product 7 has 3, not 4", "<script>alert(1)</script>"},
	}
	bad.Errors["<b>not markup</b>"] = 3
	slow.RuntimeSeconds = 40.2
	for i := range 14 {
		slow.Slot(25 + i).Ended = 60
		slow.Slot(24 - i).Ended -= 60
	}
	resident := synthetic(5, 1)
	resident.Server = nil
	resident.Scenarios[0].Load.Resident = true
	resident.Scenarios[0].Latency, resident.Scenarios[0].Series = result.NewTiming(3), nil
	other := synthetic(100, 0.5)
	other.Title, other.Environment.ServerVersion = "carts and queues, after", "0.4.0 (MongoDB 8.0.0)"
	empty := &result.Result{
		Format: result.Format, Title: "nothing", Started: time.Unix(0, 0),
		Scenarios: []*result.Scenario{
			{
				Name: "x", Label: "x", Measured: *result.NewMeasured(),
				Load: result.Load{Iterations: 5, ResolutionMillis: 1000, Users: 1},
			},
		},
	}
	searched := synthetic(7, 1)
	searched.Limit = &result.Limit{
		Users: 500, Over: 550, Confirmed: 2, Repeats: 3, P99Millis: 50,
		Generator: true, Probes: []result.Probe{
			{Users: 500, RuntimeSeconds: 25.1, P99Millis: 21, KeptUp: true},
			{Users: 1000, RuntimeSeconds: 61.5, P99Millis: 20100, Why: "it took 61.5 s, not 25.0 s"},
		},
	}
	searched.Scenarios[1] = users(8, "cart-checkout", "Check out a cart", "cart", 200, 2)
	long := synthetic(9, 1)
	for _, s := range long.Scenarios {
		s.Load.Iterations = 5000
		for i := range 5000 {
			slot := s.Slot(i)
			slot.Started, slot.Ended = 10, 10
			slot.Latency.Add(time.Duration(5+i%7) * time.Millisecond)
		}
	}
	return map[string]func(w io.Writer) error{
		"one":      func(w io.Writer) error { return report.Page{Book: true}.HTML(w, synthetic(1, 1)) },
		"two":      func(w io.Writer) error { return report.HTML(w, synthetic(1, 1), other) },
		"spoilt":   func(w io.Writer) error { return report.HTML(w, spoilt) },
		"designs":  func(w io.Writer) error { return report.Page{Designs: true}.HTML(w, searched) },
		"long":     func(w io.Writer) error { return report.HTML(w, long) },
		"resident": func(w io.Writer) error { return report.HTML(w, resident) },
		"empty":    func(w io.Writer) error { return report.HTML(w, empty) },
	}
}

// TestHTML writes all reports of pages. If SHEAF_REPORTS names a folder, the reports are stored in
// it.
func TestHTML(t *testing.T) {
	t.Parallel()
	outside := regexp.MustCompile(`(?i)(src|href|url)\s*[=(]\s*"?\s*(https?:|//|file:)|@import`)
	for name, write := range pages() {
		got := text(t, func(b *strings.Builder) error { return write(b) })
		if dir := os.Getenv("SHEAF_REPORTS"); dir != "" {
			if err := os.WriteFile(filepath.Join(dir, name+".html"), []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if m := outside.FindString(got); m != "" {
			t.Errorf("%s: it refers to something outside: %s", name, m)
		}
		if strings.Contains(got, "ZgotmplZ") || strings.Contains(got, "NaN") || strings.Contains(got, "+Inf") {
			t.Errorf("%s: a value is not fit for the page", name)
		}
		if m := regexp.MustCompile(`(fill|stroke):#[0-9A-F]{6}`).FindString(got); m != "" {
			t.Errorf("%s: %s is the same in light and dark", name, m)
		}
		for _, svg := range regexp.MustCompile(`(?s)<svg.*?</svg>`).FindAllString(got, -1) {
			wellFormed(t, name, svg)
		}
	}
	p := pages()
	want(t, text(t, func(b *strings.Builder) error { return p["one"](b) }), "<title>carts and queues", "CHECKED",
		"cart-reserve", "Latency over time", "<path", "warm-up", "Histogram", "Server", "Beside the books", "88.241")
	want(t, text(t, func(b *strings.Builder) error { return p["two"](b) }), "b beside a", "b/a", "better",
		"Ratios", "p99 over time", "0.4.0")
	want(t, text(t, func(b *strings.Builder) error { return p["designs"](b) }), "The designs",
		"cart-reserve and cart-checkout differ in parameter", "better",
		"500 users for each iteration were kept up with, 550 were too many; 2 of 3 repeats confirm it; the bound was a p99 of 50 ms; it was the LOAD GENERATOR", "no: it took 61.5 s")
	if n := strings.Count(text(t, func(b *strings.Builder) error { return p["long"](b) }), "<tr data-x"); n > 3000 {
		t.Errorf("a run of 5000 slots has %d rows", n)
	}
	spoilt := text(t, func(b *strings.Builder) error { return p["spoilt"](b) })
	want(t, spoilt, "badge wrong", "WRONG", "PARTIAL", "OVERLOADED", "2 violations", "&lt;script&gt;alert",
		"&lt;b&gt;not markup", "end of the schedule")
	if strings.Contains(spoilt, "<script>alert") {
		t.Error("a violation became a script")
	}
}

// TestHTMLOfOddities writes reports about loads that no run has, but that a result file may
// contain.
func TestHTMLOfOddities(t *testing.T) {
	t.Parallel()
	odd := synthetic(11, 1)
	odd.Scenarios[0].Load.Iterations, odd.Scenarios[1].Load.ResolutionMillis, odd.Options.WarmUp = -1, 0, 1000
	got := text(t, func(b *strings.Builder) error { return report.Page{Book: true}.HTML(b, odd, odd) })
	if strings.Contains(got, "NaN") || strings.Contains(got, "Inf") {
		t.Error("a value is not fit for the page")
	}
}

func wellFormed(t *testing.T, name, svg string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%s: a chart is not well formed: %v", name, err)
		}
	}
}
