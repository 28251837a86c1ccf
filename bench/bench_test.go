package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary act as the floor server, as the program itself does.
func TestMain(m *testing.M) {
	if os.Getenv(floorEnv) != "" {
		exit(runFloor())
	}
	os.Exit(m.Run())
}

// TestSmoke runs all workloads on tiny data and expects figures in every row. The values of the
// figures do not matter. The test uses the system's temporary directory, because PostgreSQL runs as
// another user and cannot enter the test's own directory.
func TestSmoke(t *testing.T) {
	cfg := &config{
		run: regexp.MustCompile(""), duration: 10 * time.Millisecond, rounds: 1, documents: 2000, connections: 20,
		resources: true, postgres: true, patience: 100 * time.Millisecond, budget: serveBudget,
	}
	res, err := bench(t.Context(), cfg, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Workloads) != len(workloads) {
		t.Errorf("%d workloads measured, not %d", len(res.Workloads), len(workloads))
	}
	for _, w := range res.Workloads {
		for name, f := range w.Sides {
			if f.Error != "" || f.Rate <= 0 {
				t.Errorf("%s on %s: rate %v, error %q", w.Name, name, f.Rate, f.Error)
			}
			if l := f.Latencies; l.P50 <= 0 || l.P50 > l.P99 || l.P99 > l.P999 {
				t.Errorf("%s on %s: latencies %+v", w.Name, name, l)
			}
			if runtime.GOOS == "linux" && f.PeakMB <= 0 {
				t.Errorf("%s on %s: no peak of memory", w.Name, name)
			}
		}
		if _, policy, _ := strings.Cut(string(w.Concern), ", "); !strings.HasSuffix(string(w.Op), policy) {
			t.Errorf("%s: the write concern is %q, the operation %q", w.Name, w.Concern, w.Op)
		}
		if w.Sides[sideSheaf] == nil {
			t.Errorf("%s was not measured on Sheaf", w.Name)
		}
	}
	withPostgres := res.figure("ping-1", sidePostgres) != nil
	for _, v := range res.Claims {
		optional := strings.HasPrefix(v.Name, "10,000") || v.Name == "start on 1 GB" ||
			(v.Group == groupPostgres && !withPostgres)
		if v.Measured == nil && !optional && openFiles() > 0 {
			t.Errorf("no figure for %q", v.Name)
		}
	}
	dir := t.TempDir()
	if err := res.write(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(dir + "/results.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "| find by _id, 16 clients ÷ PostgreSQL |") {
		t.Errorf("the table lacks a claim:\n%s", text)
	}
}

// TestPatternsSmoke runs every pattern on all sides for a short time.
func TestPatternsSmoke(t *testing.T) {
	cfg := &config{
		run: regexp.MustCompile(""), duration: 20 * time.Millisecond, rounds: 1, documents: 1000, postgres: true,
		patience: 10 * time.Millisecond, budget: serveBudget, writes: concernSynced,
		byHand: true,
	}
	res, err := benchPatterns(t.Context(), cfg, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Workloads) != len(patterns) {
		t.Errorf("%d patterns measured, not %d", len(res.Workloads), len(patterns))
	}
	for _, w := range res.Workloads {
		for name, f := range w.Sides {
			if f.Error != "" || f.Rate <= 0 {
				t.Errorf("%s on %s: rate %v, error %q", w.Name, name, f.Rate, f.Error)
			}
		}
	}
	withPostgres := res.figure("queue-publish", sidePostgres) != nil
	for _, v := range res.Claims {
		if v.Measured == nil && (withPostgres || v.Group != groupPatterns) {
			t.Errorf("no figure for %q", v.Name)
		}
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "page.md")
	if err := os.WriteFile(path,
		[]byte("before\n"+patternsPage.begin+"old\n"+patternsPage.end+"after\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := res.writePage(path); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"before\n", "(patterns.svg)", "\n| queue-publish | majority, synced | 8 |",
		"\n- transfer-2: a transaction of two updates.\n", "after\n",
	} {
		if strings.Count(string(page), want) != 1 {
			t.Errorf("not once on the page: %q\n%s", want, page)
		}
	}
	if err := res.write(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "patterns.svg")); err != nil {
		t.Error(err)
	}
}

// TestAggSmoke runs every query on tiny data. All sides that answer must give the same answer.
func TestAggSmoke(t *testing.T) {
	cfg := &config{
		run: regexp.MustCompile(""), rounds: 1, documents: 20_000, postgres: true,
		patience: 10 * time.Millisecond, budget: serveBudget,
	}
	res, err := benchAgg(t.Context(), cfg, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Rows) != len(aggWorkloads) {
		t.Errorf("%d questions asked, not %d", len(res.Rows), len(aggWorkloads))
	}
	for _, row := range res.Rows {
		for name, f := range row.Sides {
			if strings.Contains(f.Error, "NotImplemented") {
				continue // the table has no figure for a side that failed
			}
			if f.Error != "" || f.Rate <= 0 {
				t.Errorf("%s on %s: rate %v, error %q", row.Name, name, f.Rate, f.Error)
			}
		}
	}
	if err := res.write(t.TempDir()); err != nil {
		t.Fatal(err)
	}
}

// TestAggTable: the row of a query that failed on a side has no figure for that side, and no ratio.
func TestAggTable(t *testing.T) {
	t.Parallel()
	row := aggRow{aggWorkload: aggWorkload{Name: "q"}, Sides: map[string]*aggFigure{
		sideSheaf: {Error: "not there"}, sidePostgres: {Rate: 1000, first: answer{1, 2}},
		sideEmbedded: {Rate: 500, Allocs: 3, PeakMB: 70, Took: []float64{9, 7, 8}, first: answer{1, 3}},
	}}
	if got, want := row.line(), "| q | missing | 1,000 | – | 500 | 3 | missing | 0 | 70 |"; got != want {
		t.Errorf("%s, not %s", got, want)
	}
	if got, want := row.latencies(), "| q | – | – | 8 / 9 / 9 |"; got != want {
		t.Errorf("%s, not %s", got, want)
	}
	row.compareAnswers()
	if row.Sides[sideEmbedded].Error == "" {
		t.Error("an answer that differs is accepted")
	}
}

// TestAggPage writes a page twice. Each time the table, the targets and the chart are replaced.
func TestAggPage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "page.md")
	if err := os.WriteFile(path, []byte("before\n"+aggPageBegin+"old\n"+aggPageEnd+"\nafter\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	rows := []aggRow{
		{
			aggWorkload{Name: groupName},
			map[string]*aggFigure{sideSheaf: {Rate: 2_000_000}, sidePostgres: {Rate: 1_000_000}},
		},
		{
			aggWorkload{Name: "facet"},
			map[string]*aggFigure{sideSheaf: {Rate: 300_000}, sidePostgres: {Rate: 1_000_000}},
		},
	}
	res := &aggResults{Rows: rows, Claims: judgeAgg(rows)}
	for range 2 {
		if err := res.writePage(path); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"before\n", "(aggregation.svg)", "| group | 2,000,000 | 1,000,000 | 2.00x |",
		"Measured: 2,000,000/s (ok)", "\nafter\n",
	} {
		if strings.Count(string(page), want) != 1 {
			t.Errorf("not once on the page: %q\n%s", want, page)
		}
	}
	picture, err := os.ReadFile(filepath.Join(dir, aggPicture))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`class="ok"`, `class="short"`, ">2.00x<", ">0.30x<"} {
		if strings.Count(string(picture), want) != 1 {
			t.Errorf("not once in the picture: %q", want)
		}
	}
}

func TestOrders(t *testing.T) {
	t.Parallel()
	d, size := orders{1000}, 0
	for i := range d.size {
		doc, err := d.bson(i)
		if err != nil {
			t.Fatal(err)
		}
		size += len(doc)
	}
	if average := size / d.size; average < 380 || average > 440 {
		t.Errorf("an order has %d bytes on average", average)
	}
}

func TestDataset(t *testing.T) {
	t.Parallel()
	d := dataset{size: 3000}
	seen := map[int]bool{}
	for i := range d.size {
		doc, err := d.document(i)
		if err != nil {
			t.Fatal(err)
		}
		setID(doc, 7)
		if got := doc.Lookup("_id").AsInt64(); got != 7 {
			t.Fatalf("_id of document %d is %d after it was set to 7", i, got)
		}
		seen[d.permuted(i)] = true
	}
	if len(seen) != d.size {
		t.Errorf("%d positions of %d", len(seen), d.size)
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   []float64
		want float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{3, 1}, 2}, {[]float64{9, 1, 2}, 2}} {
		if got := median(c.in); got != c.want {
			t.Errorf("median(%v) = %v, not %v", c.in, got, c.want)
		}
	}
}

func TestNumber(t *testing.T) {
	t.Parallel()
	for in, want := range map[float64]string{
		0: "0", 7.25: "7.2", 40: "40", 999.6: "1,000",
		1234567: "1,234,567", 123456: "123,456",
	} {
		if got := number(in); got != want {
			t.Errorf("number(%v) = %q, not %q", in, got, want)
		}
	}
}

func TestWritePage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(path,
		[]byte("before\n"+resultsPage.begin+"old\n"+resultsPage.end+"\nafter\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	res := &results{page: resultsPage}
	res.Claims = judge(res)
	for range 2 {
		if err := res.writePage(path); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	if !strings.HasPrefix(text, "before\n") || !strings.HasSuffix(text, "\nafter\n") ||
		strings.Contains(text, "old") || strings.Count(text, "| claim |") != 1 {
		t.Errorf("the page is\n%s", text)
	}
}

// TestHistogram: a quantile is at most one bucket above the exact quantile of the recorded
// latencies.
func TestHistogram(t *testing.T) {
	t.Parallel()
	for _, ns := range []int64{0, 1, 31, 32, 63, 64, 1000, 123_456, 1 << 40} {
		b := bucketOf(ns)
		if upperEnd(b) < ns || (b > 0 && upperEnd(b-1) >= ns) {
			t.Errorf("%d ns are in bucket %d, which ends at %d and begins after %d", ns, b, upperEnd(b), upperEnd(b-1))
		}
	}
	var h, other histogram
	for i := 1; i <= 1000; i++ {
		h.record(time.Duration(i) * time.Microsecond)
	}
	other.add(&h)
	for q, want := range map[float64]float64{0.5: 500, 0.99: 990, 0.999: 999} {
		if got := other.quantile(q); got < want || got > want*1.04 {
			t.Errorf("quantile %v is %v µs, not %v", q, got, want)
		}
	}
}

// TestZipf: the numbers are in range, and a few of them are drawn far more often than the others.
func TestZipf(t *testing.T) {
	t.Parallel()
	z, rng, often := newZipf(1000), rand.New(rand.NewPCG(1, 2)), 0
	for range 10_000 {
		n := z.draw(rng)
		if n < 0 || n >= 1000 {
			t.Fatalf("%d was drawn of 1000", n)
		}
		if n < 10 {
			often++
		}
	}
	if often < 3000 || often > 5000 {
		t.Errorf("a hundredth of the numbers was drawn %d times of 10000", often)
	}
}

func TestScanDocument(t *testing.T) {
	t.Parallel()
	doc, err := scanDocument(3, scanKey(3))
	if err != nil {
		t.Fatal(err)
	}
	copy(doc[scanKeyOffset:], scanKey(4))
	if got := doc.Lookup("_id").StringValue(); got != scanKey(4) {
		t.Errorf("the key is %q after it was set to %q", got, scanKey(4))
	}
}
