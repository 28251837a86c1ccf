package report

import (
	"fmt"
	"html/template"
	"math"
)

// chart holds the content of a chart, its drawing, and the table of numbers below it.
type chart struct {
	Title, Note string
	Legend      []legend
	// Header and Lines are the table. The X of a line is the position of its values on the chart,
	// with which the page shows the values under the pointer.
	Header []string
	Lines  []chartLine

	x, y  axis
	lines []line
	marks []mark
	bars  []bin
	color ink // the colour of the bars

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

// axis is an axis of a chart with its bounds. If min equals max, the bounds are computed from the
// points.
type axis struct {
	label    string
	log      bool
	min, max float64
	ticks    ticker
}

// line is a line of a chart. A point whose Y is NaN leaves a gap in the line.
type line struct {
	name   string
	color  ink
	width  float64
	dashes string
	points []point
	area   bool // whether the area between the line and the axis is filled
}

// mark is a labelled vertical line, or a labelled region if it has a width.
type mark struct {
	at, to float64
	text   string
}

// The dash patterns of lines: the lengths of a dash and of a gap.
const (
	dashed = "6,4"
	dotted = "1.5,3"
)

// draw draws the chart into the field SVG, and sets the X of the table's lines.
func (c *chart) draw() {
	d := newDrawing(c.Title)
	f := c.frame()
	f.drawAxes(d)
	for _, m := range c.marks {
		f.drawMark(d, m)
	}
	for _, b := range c.bars {
		left, right := f.place(point{b.Min, b.Weight}), f.place(point{b.Max, b.Weight})
		d.polygon(c.color, point{left.X, f.bottom}, left, right, point{right.X, f.bottom})
	}
	for _, l := range c.lines {
		f.drawLine(d, l)
		c.legend(l)
	}
	for i := range c.Lines {
		c.Lines[i].X = fmt.Sprintf("%.1f", f.place(point{c.Lines[i].at, f.y.min}).X)
	}
	c.SVG = d.end()
}

// frame returns the area in which the chart's points are drawn.
func (c *chart) frame() *frame {
	x, y := c.bounds()
	return newFrame(x, y)
}

// bounds returns the axes with their bounds. If an axis has no bounds, it computes them from the
// points, and rounds them if the axis is logarithmic.
func (c *chart) bounds() (x, y axis) {
	x, y = c.x, c.y
	givenX, givenY := x.min != x.max, y.min != y.max
	if !givenX {
		x.min, x.max = c.extent(func(p point) float64 { return p.X })
	}
	if !givenY {
		y.min, y.max = c.extent(func(p point) float64 { return p.Y })
	}
	for _, a := range []*axis{&x, &y} {
		if a.log && (a == &x && !givenX || a == &y && !givenY) {
			a.min, a.max = roundDown(a.min), roundUp(a.max)
		}
		if a.max <= a.min {
			a.max = a.min + 1
		}
	}
	if !y.log && !givenY {
		y.min, y.max = 0, y.max*1.06
	}
	return x, y
}

// extent returns the smallest and the largest coordinate of the points of the lines. Without points
// it returns 1 and 10.
func (c *chart) extent(coordinate func(point) float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, l := range c.lines {
		for _, p := range l.points {
			if !math.IsNaN(p.Y) {
				low, high = min(low, coordinate(p)), max(high, coordinate(p))
			}
		}
	}
	if math.IsInf(low, 0) {
		return 1, 10
	}
	return low, high
}

func (c *chart) legend(l line) {
	if l.name == "" {
		return
	}
	style := "solid"
	switch l.dashes {
	case dashed:
		style = "dashed"
	case dotted:
		style = "dotted"
	}
	c.Legend = append(c.Legend, legend{Name: l.name, Color: template.CSS(l.color.css()), Style: style})
}
