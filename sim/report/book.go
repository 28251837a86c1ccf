package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/sheafdb/sheaf/sim/result"
)

// BookLabel says where the figures of the books come from.
const BookLabel = "The books' figures are of another machine and era: one mongod 3.0.1 with default settings on a MacBook Pro Retina (2015, SSD, 16 GB; for metadata and account " +
	"transactions 2013), 4 processes of 50 connections, 25 iterations of 1000 ms. They show the shape of a design, not how fast it is today."

// BookRow is a published result: the runtime in seconds, all other times in milliseconds.
type BookRow struct {
	// Scenario is the name of the built-in scenario that measures the same.
	Scenario, Chapter, Title, Engine               string
	Runtime, Mean, StdDev, P75, P95, P99, Min, Max float64
}

// listeners is the name of the only scenario of the books with residents.
const listeners = "topic-listen"

// Users returns how many users started in each iteration. For listeners, it returns their total
// number.
func (r BookRow) Users() int {
	switch r.Scenario {
	case "queue-fetch-fifo":
		return 300
	case listeners:
		return 40
	default:
		return 1000
	}
}

// BookRows returns the published results of a scenario, with the storage engines MMAP and
// WiredTiger. It returns nil if the books have none.
func BookRows(scenario string) (out []BookRow) {
	for _, r := range published {
		if r.Scenario == scenario {
			out = append(out, r)
		}
	}
	return out
}

const (
	mmap  = "MMAP"
	tiger = "WiredTiger"
)

// The titles of chapters with several results.
const (
	pathTitle   = "Materialized Path Category Hierarchy"
	sliceTitle  = "Array Slice Cache"
	localeTitle = "Internationalization"
)

// published holds all results of the workload simulator that the books print.
var published = []BookRow{
	{
		"queue-publish", "Queue", "publish_to_queues", mmap, 52.289, 31.288, 21.479, 48.616,
		55.736, 59.138, 0.401, 77.987,
	},
	{
		"queue-fetch-fifo", "Queue", "fetch_from_queue_by_fifo", mmap, 52.289, 15195.361, 13526.237, 28049.003,
		33552.295, 35403.374, 1.233, 37248.023,
	},
	{
		"queue-publish", "Queue", "publish_to_queues", tiger, 31.113, 32.455, 44.732, 51.322,
		127.275, 188.452, 0.412, 312.698,
	},
	{
		"queue-fetch-fifo", "Queue", "fetch_from_queue_by_fifo", tiger, 31.113, 48.493, 718.43, 5.873,
		10.658, 29.38, 1.329, 19499.33,
	},
	{
		"topic-publish", "Topics", "publish_to_topics", mmap, 44.39, 2.616, 7.824, 2.318,
		5.523, 21.792, 0.703, 420.747,
	},
	{listeners, "Topics", "fetch_from_topics", mmap, 44.39, 0.001, 0.003, 0.002, 0.004, 0.02, 0, 0.323},
	{
		"topic-publish", "Topics", "publish_to_topics", tiger, 45.39, 2.848, 11.15, 2.432,
		5.699, 22.597, 0.740, 522.21,
	},
	{listeners, "Topics", "fetch_from_topics", tiger, 45.39, 0.001, 0.004, 0.002, 0.004, 0.020, 0, 0.363},
	{"metadata-find", "Metadata", "metadata", mmap, 40.874, 0.954, 0.291, 1.187, 1.367, 1.619, 0.441, 4.885},
	{"metadata-find", "Metadata", "metadata", tiger, 40.01, 0.992, 0.318, 1.232, 1.431, 1.706, 0.484, 9.827},
	{"category-children", pathTitle, "direct children", mmap, 31.773, 0.954, 0.357, 1.162, 1.630, 1.998, 0.394, 7.196},
	{"category-subtree", pathTitle, "category subtree", mmap, 31.617, 0.963, 0.413, 1.159, 1.669, 2.104, 0.379, 8.818},
	{"category-children", pathTitle, "direct children", tiger, 31.187, 0.998, 0.417, 1.187, 1.874, 2.247, 0.399, 7.093},
	{
		"category-subtree", pathTitle, "category subtree", tiger, 30.584, 0.992, 0.495,
		1.183, 1.886, 2.386, 0.394, 19.589,
	},
	{
		"cart-reserve", "Shopping Cart with Product Reservation", "successfully checkout cart", mmap, 88.241,
		46416.268, 21937.134, 62873.337, 67818.018, 70497.126, 20.034, 74220.014,
	},
	{
		"cart-reserve", "Shopping Cart with Product Reservation", "successfully checkout cart", tiger, 108.916,
		63597.036, 27672.244, 83614.989, 87405.772, 89546.218, 41.414, 93681.381,
	},
	{
		"cart-checkout", "Shopping Cart with No Product Reservation", "successfully checkout cart", mmap, 61.878,
		23696.635, 12515.697, 35072.337, 38497.619, 40150.439, 21.637, 43277.439,
	},
	{
		"cart-checkout", "Shopping Cart with No Product Reservation", "successfully checkout cart", tiger, 62.607,
		26075.901, 12410.047, 36122.769, 39481.372, 41308.47, 20.228, 44646.7,
	},
	{
		"theater", "Theater Reservation", "successfully checkout cart", mmap, 124.397, 2292.494, 1527.972, 2916.34,
		5211.314, 7884.857, 149.741, 14779.998,
	},
	{
		"theater", "Theater Reservation", "successfully checkout cart", tiger, 112.994, 2302.15, 2052.946, 3145.921,
		6451.251, 9608.811, 19.081, 17122.854,
	},
	{
		"transfer", "Account Transactions", "Successfully transfer between accounts", mmap, 48.086, 9951.659,
		7131.847, 12220.925, 25750.843, 34520.997, 65.398, 41428.625,
	},
	{
		"transfer", "Account Transactions", "Successfully transfer between accounts", tiger, 46.653, 8655.022,
		5743.181, 11037.199, 19937.439, 29972.029, 77.812, 40603.657,
	},
	{"timeseries", "Time Series", "timeseries", mmap, 30.253, 1.06, 1.588, 1.246, 1.502, 1.815, 0.448, 57.48},
	{"timeseries", "Time Series", "timeseries", tiger, 30.08, 1.108, 0.401, 1.341, 1.871, 2.477, 0.513, 5.481},
	{"slice", sliceTitle, "Pre-allocated slice cache", mmap, 30.98, 0.668, 0.163, 0.715, 0.874, 1.155, 0.361, 5.799},
	{
		"slice-plain", sliceTitle, "Slice cache no pre-allocation", mmap, 30.507, 0.663, 0.155,
		0.715, 0.86, 1.088, 0.365, 8.494,
	},
	{"slice", sliceTitle, "Pre-allocated slice cache", tiger, 30.606, 0.756, 0.199, 0.812, 1.085, 1.418, 0.408, 5.627},
	{
		"slice-plain", sliceTitle, "Slice cache no pre-allocation", tiger, 30.033, 1.012, 0.4,
		1.234, 1.783, 2.185, 0.417, 8.582,
	},
	{"i18n-add", localeTitle, "add local to category", mmap, 30.898, 0.676, 0.202, 0.716, 0.865, 1.446, 0.391, 6.839},
	{
		"i18n-remove", localeTitle, "remove local from category", mmap, 31.037, 0.675, 0.185,
		0.715, 0.867, 1.418, 0.403, 5.882,
	},
	{"i18n-add", localeTitle, "add local to category", tiger, 30.681, 0.693, 0.219, 0.73, 0.889, 1.582, 0.409, 7.157},
	{
		"i18n-remove", localeTitle, "remove local from category", tiger, 30.404, 0.913, 0.337,
		1.145, 1.316, 1.763, 0.409, 7.938,
	},
}

var bookColumns = []string{
	"scenario", "measured by", "load", "runtime s", "mean", "std dev",
	"p75", "p95", "p99", "min", "max",
}

func (r BookRow) cells() []string {
	out := []string{r.Chapter + ": " + r.Title, "book, " + r.Engine, fmt.Sprintf("%d × 25", r.Users())}
	if r.Scenario == listeners {
		out[2] = fmt.Sprint(r.Users())
	}
	for _, v := range []float64{r.Runtime, r.Mean, r.StdDev, r.P75, r.P95, r.P99, r.Min, r.Max} {
		out = append(out, fixed(v))
	}
	return out
}

// bookLines returns the scenarios of a result, each followed by its published rows. Scenarios
// without published rows are left out.
func bookLines(r *result.Result) (out []row) {
	for _, s := range r.Scenarios {
		published := BookRows(s.Name)
		if len(published) == 0 {
			continue
		}
		mark := ""
		if !s.Check.OK() {
			mark = " (" + checkOf(s.Check) + ")"
		}
		cells := append([]string{s.Label + mark, "this run", shortLoad(s.Load), fixed(s.RuntimeSeconds)},
			times(mainTiming(s), fixedTimes)...)
		out = append(out, row{cells: cells})
		for _, p := range published {
			out = append(out, row{step: true, cells: p.cells()})
		}
	}
	return out
}

// mainTiming returns a scenario's latency. Residents have no latency, so for residents it returns
// the timing of their only or most frequent step.
func mainTiming(s *result.Scenario) *result.Timing {
	best := s.Latency
	if best.Count() > 0 {
		return best
	}
	for _, t := range s.Steps {
		if t.Count() > best.Count() {
			best = t
		}
	}
	return best
}

// BookTable writes a result and the figures of the books as a table for a terminal.
func BookTable(w io.Writer, r *result.Result) error {
	lines := [][]string{bookColumns}
	for _, row := range bookLines(r) {
		if row.step {
			row.cells[0] = "  " + row.cells[0]
		}
		lines = append(lines, row.cells)
	}
	b := &strings.Builder{}
	b.WriteString(BookLabel + "\n\n")
	if len(lines) == 1 {
		b.WriteString("The books have published nothing of these scenarios.\n")
	} else {
		grid(b, lines, len(bookColumns))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// BookMarkdown is like BookTable, but writes Markdown.
func BookMarkdown(w io.Writer, r *result.Result) error {
	lines := [][]string{bookColumns}
	for _, row := range bookLines(r) {
		if row.step {
			row.cells[0] = "· " + row.cells[0]
		}
		lines = append(lines, row.cells)
	}
	b := &strings.Builder{}
	fmt.Fprintf(b, "### %s, compared with the books\n\n%s Runtime in seconds, all other times in milliseconds.\n\n", escape(titleOf(r)), BookLabel)
	if len(lines) == 1 {
		b.WriteString("The books have published nothing of these scenarios.\n")
	} else {
		pipes(b, lines, len(bookColumns))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
