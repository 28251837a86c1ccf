package report

import (
	_ "embed" // for the parts of the page
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/sheafdb/sheaf/sim/result"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

// Page is an HTML report. The zero value works.
type Page struct {
	// Title is the title of the page. If it is empty, the first result's title is used.
	Title string
	// Book adds the figures of the books to the results.
	Book bool
	// Designs says that the scenarios are designs for one problem. All scenarios are compared with
	// the first one. With several results, only the first scenario of each is compared, because the
	// others are companions.
	Designs bool
}

// HTML writes results as one self-contained HTML file: it loads no fonts and no scripts, and works
// offline. With several results, each is compared with the first.
func HTML(w io.Writer, results ...*result.Result) error { return Page{}.HTML(w, results...) }

// HTML writes results like the function HTML.
func (p Page) HTML(w io.Writer, results ...*result.Result) error {
	v := view{
		Title: p.Title, CSS: template.CSS(pageCSS), JS: template.JS(pageJS),
		Columns: columns, Texts: len(columns) - 2,
	}
	if v.Title == "" && len(results) > 0 {
		v.Title = titleOf(results[0])
	}
	several := len(results) > 1
	for i, r := range results {
		run := newRunView(r, i, several, p.Book)
		v.Runs = append(v.Runs, run)
	}
	compare := comparisons
	if p.Designs {
		compare = designs
	}
	v.Comparisons = compare(results)
	t, err := template.New("page").
		Funcs(template.FuncMap{"numeric": func(i, texts int) bool { return i > 0 && i < texts }}).Parse(pageHTML)
	if err != nil {
		return fmt.Errorf("the page of the report: %w", err)
	}
	if err := t.Execute(w, v); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// view is the content of the page.
type view struct {
	Title       string
	CSS         template.CSS
	JS          template.JS
	Columns     []string
	Texts       int // the index of the first column that holds text
	Runs        []runView
	Comparisons []comparisonView
}

type runView struct {
	ID, Letter, Title string
	Summary           []string
	Badges            []badge
	Notes             []Note
	Facts             []Fact
	Rows              []rowView
	Limit             string
	ProbeColumns      []string
	Probes            [][]string
	Overview          *chart
	Scenarios         []scenarioView
	Server            []*chart
	Deltas            []Fact
	BookColumns       []string
	Book              []rowView
	BookLabel         string
}

type badge struct{ Class, Text string }

type rowView struct {
	Step  bool
	Color template.CSS // the colour of the scenario; empty means none
	Cells []string
}

type scenarioView struct {
	ID                     string
	Color                  template.CSS
	S                      *result.Scenario
	Load, Check            string
	CheckOK                bool
	Tiles                  []Fact
	Params, Counts, Errors []Fact
	Charts                 []*chart
}

type comparisonView struct {
	Title     string
	Sentences []string
	Columns   []string
	Lines     [][]string
	Pairs     []pairView
}

type pairView struct {
	Label  string
	Charts []*chart
}

// letter returns the letter that names run i: a, b, c and so on.
func letter(i int) string { return string(rune('a' + i%26)) }

func newRunView(r *result.Result, i int, several, book bool) runView {
	v := runView{
		ID: "run-" + letter(i), Title: titleOf(r), Summary: summary(r), Notes: Notes(r),
		Facts: Facts(r), Badges: badges(r),
	}
	if several {
		v.Letter = letter(i)
	}
	colors := map[string]template.CSS{}
	var ones []one
	for j, s := range r.Scenarios {
		color := ink{inkSeries, 100, uint8(j)}
		colors[s.Label] = template.CSS(color.css())
		o := newOne(s.Label, color, s, r.Options)
		sv := newScenarioView(s, o, fmt.Sprintf("%s-%d", v.ID, j))
		v.Scenarios = append(v.Scenarios, sv)
		if s.Latency.Count() > 0 {
			ones = append(ones, o)
		}
	}
	for _, row := range rows(r, fixedTimes) {
		rv := rowView{Step: row.step, Cells: row.cells}
		if !row.step {
			rv.Color = colors[row.cells[0]]
		}
		v.Rows = append(v.Rows, rv)
	}
	if len(ones) > 1 {
		v.Overview = percentileChart("Percentiles of all scenarios", ones)
		v.Overview.draw()
	}
	if r.Limit != nil {
		v.Limit, v.ProbeColumns, v.Probes = limitText(r.Limit), probeColumns, probeLines(r.Limit)
	}
	v.Server = serverCharts(r)
	if r.Server != nil {
		v.Deltas = pairs(r.Server.Deltas)
	}
	if book {
		v.BookColumns, v.BookLabel = bookColumns, BookLabel
		for _, row := range bookLines(r) {
			v.Book = append(v.Book, rowView{Step: row.step, Cells: row.cells})
		}
	}
	drawAll(v.Server)
	return v
}

func badges(r *result.Result) (out []badge) {
	seen := map[Level]bool{}
	for _, n := range Notes(r) {
		if !seen[n.Level] {
			seen[n.Level] = true
			out = append(out, badge{strings.ToLower(string(n.Level)), string(n.Level)})
		}
	}
	if !seen[Wrong] && !seen[Unchecked] {
		out = append(out, badge{"good", "CHECKED"})
	}
	return out
}

func newScenarioView(s *result.Scenario, o one, id string) scenarioView {
	v := scenarioView{
		ID: id, Color: template.CSS(o.color.css()), S: s, Load: loadText(s.Load),
		Check: checkOf(s.Check), CheckOK: s.Check.OK(),
		Params: pairs(s.Params), Counts: pairs(s.Counts), Errors: pairs(s.Errors),
	}
	if s.Latency.Count() > 0 {
		for _, p := range []float64{50, 95, 99} {
			v.Tiles = append(v.Tiles, Fact{fmt.Sprintf("p%g", p), span(s.Latency.Percentile(p))})
		}
		v.Tiles = append(v.Tiles, Fact{"max", span(s.Latency.Max())})
		v.Charts = []*chart{
			latencyChart(o),
			percentileChart("Percentiles", []one{{name: "latency", color: ink{inkAccent, 100, 0}, s: s}}),
			throughputChart(o.s), histogramChart(s),
		}
	}
	if c := stepsChart(s); c != nil {
		v.Charts = append(v.Charts, c)
	}
	v.Tiles = append(v.Tiles, Fact{"succeeded", plain(float64(s.Succeeded))}, Fact{"failed", plain(float64(s.Failed))})
	if s.Lateness.Count() > 0 {
		v.Tiles = append(v.Tiles, Fact{"late start, p99", span(s.Lateness.Percentile(99))})
	}
	drawAll(v.Charts)
	return v
}

// comparisons compares each result with the first one.
func comparisons(results []*result.Result) (out []comparisonView) {
	for i := 1; i < len(results); i++ {
		c := Compare(results[0], results[i])
		v := newComparisonView(c.Pairs, 0, i, [2]string{letter(0), letter(i)})
		v.Title, v.Sentences = letter(i)+" beside "+letter(0), c.sentences(letter(0), letter(i))
		out = append(out, v)
	}
	return out
}

// designs compares all scenarios with the first one.
func designs(results []*result.Result) []comparisonView {
	var all []*result.Scenario
	for _, r := range results {
		if len(results) > 1 { // the other scenarios of a result are companions
			all = append(all, r.Scenarios[:min(1, len(r.Scenarios))]...)
		} else {
			all = append(all, r.Scenarios...)
		}
	}
	out := comparisonView{Title: "The designs", Columns: ratioColumns}
	for i := 1; i < len(all); i++ {
		p := CompareScenarios(all[0], all[i])
		v := newComparisonView([]Pair{p}, 0, i, [2]string{p.A.Label, p.B.Label})
		v.Pairs[0].Label = p.B.Label + " (b) beside " + p.A.Label + " (a)"
		out.Lines, out.Pairs, out.Sentences = append(out.Lines, v.Lines...), append(out.Pairs,
			v.Pairs...), append(out.Sentences, p.sentences()...)
	}
	if len(out.Pairs) == 0 {
		return nil
	}
	return []comparisonView{out}
}

// newComparisonView prepares pairs for the page. a and b are the indexes of the colours.
func newComparisonView(pairs []Pair, a, b int, names [2]string) comparisonView {
	v := comparisonView{Columns: append([]string{}, ratioColumns...)}
	for i, name := range v.Columns {
		v.Columns[i] = map[string]string{
			"a": names[0], "b": names[1], "b/a": names[1] + "/" + names[0],
			"b is": names[1] + " is",
		}[name]
		if v.Columns[i] == "" {
			v.Columns[i] = name
		}
	}
	for _, p := range pairs {
		v.Lines = append(v.Lines, p.lines()...)
		pv := pairView{Label: p.A.Label}
		if forest := forestChart(p, names); forest != nil {
			pv.Charts = append(pv.Charts, forest)
		}
		if len(p.Ratios) > 0 && p.A.Latency.Count() > 0 && p.B.Latency.Count() > 0 {
			ones := []one{
				newOne(names[0], ink{inkSeries, 100, uint8(a)}, p.A, result.Options{}),
				newOne(names[1], ink{inkSeries, 100, uint8(b)}, p.B, result.Options{}),
			}
			pv.Charts = append(pv.Charts, compareCharts(ones)...)
		}
		v.Pairs = append(v.Pairs, pv)
		drawAll(pv.Charts)
	}
	return v
}

func drawAll(charts []*chart) {
	for _, c := range charts {
		c.draw()
	}
}
