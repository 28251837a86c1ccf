package report

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The size of a chart in its own units; the page scales it.
const (
	chartWidth  = 560
	chartHeight = 250
)

// chart is what is drawn, and the numbers beneath.
type chart struct {
	Title, Note string
	Legend      []legend
	// Header and Lines are the numbers; a line's X places it on the chart for the read-out.
	Header []string
	Lines  []chartLine

	x, y  axis
	lines []line
	marks []mark
	bars  []plotter.HistogramBin
	color ink // of the bars

	SVG template.HTML
}

type legend struct {
	Name  string
	Color template.CSS
	Style string // solid, dashed or dotted
}

type chartLine struct {
	X     string
	Cells []string
	at    float64
}

// axis is a direction of a chart. Min and max bound it; if they are the same, what is drawn does.
type axis struct {
	label    string
	log      bool
	min, max float64
	ticks    plot.Ticker
}

// line is a line of a chart; NaN interrupts it.
type line struct {
	name   string
	color  ink
	width  float64
	dashes []vg.Length
	points plotter.XYs
	area   bool // filled down to the axis
	dots   bool
}

// mark is a vertical line with a word, or, with a width, a region.
type mark struct {
	at, to float64
	text   string
}

var (
	dashed = []vg.Length{6, 4}
	dotted = []vg.Length{1.5, 3}
)

// draw draws the chart.
func (c *chart) draw() error {
	p := plot.New()
	p.BackgroundColor = nil
	p.X.Padding, p.Y.Padding = 0, 0
	c.x.apply(&p.X)
	c.y.apply(&p.Y)
	lines := plotter.NewGrid()
	lines.Vertical.Width = 0
	lines.Horizontal = draw.LineStyle{Color: ink{inkGrid, 100, 0}, Width: 1}
	p.Add(lines)
	c.addMarks(p)
	if len(c.bars) > 0 {
		p.Add(&plotter.Histogram{Bins: c.bars, FillColor: c.color, LineStyle: draw.LineStyle{Color: c.color, Width: 0}})
	}
	for _, l := range c.lines {
		if err := l.add(p); err != nil {
			return fmt.Errorf("draw %s: %w", c.Title, err)
		}
		c.legend(l)
	}
	c.bound(p)
	canvas := vgsvg.New(chartWidth, chartHeight)
	area := draw.Crop(draw.New(canvas), 2, -14, 4, -10)
	p.Draw(area)
	data := p.DataCanvas(area)
	x, _ := p.Transforms(&data)
	for i := range c.Lines {
		c.Lines[i].X = fmt.Sprintf("%.1f", x(c.Lines[i].at).Points())
	}
	b := &strings.Builder{}
	if _, err := canvas.WriteTo(b); err != nil {
		return fmt.Errorf("draw %s: %w", c.Title, err)
	}
	c.SVG = recolor(b.String(), c.Title)
	return nil
}

func (a axis) apply(to *plot.Axis) {
	size := font.Font{Typeface: "Liberation", Variant: "Sans", Size: 11.5}
	to.Label.Text = a.label
	to.Label.TextStyle.Font, to.Tick.Label.Font = size, size
	to.Label.TextStyle.Color, to.Tick.Label.Color = ink{inkText, 100, 0}, ink{inkText, 100, 0}
	to.Label.Padding = 4
	to.Color, to.Tick.Color = ink{inkGrid, 100, 0}, ink{inkGrid, 100, 0}
	to.Width, to.Tick.Width, to.Tick.Length = 1, 1, 4
	if a.log {
		to.Scale = plot.LogScale{}
	}
	if a.ticks != nil {
		to.Tick.Marker = a.ticks
	}
}

// bound sets the bounds of the axes: given ones, and round ones for logarithms.
func (c *chart) bound(p *plot.Plot) {
	for _, d := range []struct {
		from axis
		to   *plot.Axis
	}{{c.x, &p.X}, {c.y, &p.Y}} {
		if d.from.min != d.from.max {
			d.to.Min, d.to.Max = d.from.min, d.from.max
		}
		if math.IsInf(d.to.Min, 0) || math.IsNaN(d.to.Min) {
			d.to.Min, d.to.Max = 1, 10
		}
		if d.from.log && d.from.min == d.from.max {
			d.to.Min, d.to.Max = roundDown(d.to.Min), roundUp(d.to.Max)
		}
		if d.to.Max <= d.to.Min {
			d.to.Max = d.to.Min + 1
		}
	}
	if !c.y.log && c.y.min == c.y.max {
		p.Y.Min, p.Y.Max = 0, p.Y.Max*1.06
	}
}

// add adds the parts of a line between its interruptions.
func (l line) add(p *plot.Plot) error {
	var part plotter.XYs
	flush := func() error {
		defer func() { part = nil }()
		if len(part) == 0 {
			return nil
		}
		if l.dots || len(part) == 1 {
			s, err := plotter.NewScatter(part)
			if err != nil {
				return err
			}
			s.GlyphStyle = draw.GlyphStyle{Color: l.color, Radius: vg.Length(max(2, 1.2*l.width)), Shape: draw.CircleGlyph{}}
			p.Add(s)
		}
		if len(part) == 1 {
			return nil
		}
		drawn, err := plotter.NewLine(part)
		if err != nil {
			return err
		}
		drawn.LineStyle = draw.LineStyle{Color: l.color, Width: vg.Length(l.width), Dashes: l.dashes}
		if l.area {
			drawn.FillColor = ink{l.color.kind, 12, l.color.index}
		}
		p.Add(drawn)
		return nil
	}
	for _, point := range l.points {
		if !math.IsNaN(point.Y) {
			part = append(part, point)
			continue
		}
		if err := flush(); err != nil {
			return err
		}
	}
	return flush()
}

func (c *chart) legend(l line) {
	if l.name == "" {
		return
	}
	style := "solid"
	switch {
	case len(l.dashes) > 0 && l.dashes[0] == dashed[0]:
		style = "dashed"
	case len(l.dashes) > 0:
		style = "dotted"
	}
	c.Legend = append(c.Legend, legend{Name: l.name, Color: template.CSS(l.color.css()), Style: style})
}

// addMarks adds regions and vertical lines. They do not bound the axes.
func (c *chart) addMarks(p *plot.Plot) {
	for _, m := range c.marks {
		p.Add(m)
	}
}

// Plot implements plot.Plotter.
func (m mark) Plot(c draw.Canvas, p *plot.Plot) {
	toX, _ := p.Transforms(&c)
	m.at, m.to = min(max(m.at, p.X.Min), p.X.Max), min(m.to, p.X.Max)
	x := toX(m.at)
	style := p.X.Tick.Label
	style.XAlign, style.YAlign = draw.XLeft, draw.YTop
	at := vg.Point{X: x + 4, Y: c.Max.Y - 2}
	if m.to > m.at {
		to := toX(m.to)
		c.FillPolygon(ink{inkMuted, 10, 0}, []vg.Point{{X: x, Y: c.Min.Y}, {X: to, Y: c.Min.Y}, {X: to, Y: c.Max.Y}, {X: x, Y: c.Max.Y}})
		if to+style.Width(m.text) > c.Max.X { // at the right edge
			style.XAlign, at.X = draw.XRight, to-4
		}
	} else {
		c.StrokeLine2(draw.LineStyle{Color: ink{inkMuted, 100, 0}, Width: 1, Dashes: dashed}, x, c.Min.Y, x, c.Max.Y)
		if x+style.Width(m.text) > c.Max.X {
			style.XAlign, at.X = draw.XRight, x-4
		}
	}
	c.FillText(style, at, m.text)
}
