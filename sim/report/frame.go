package report

import "math"

// point is a point of a chart in the units of the axes, or a position in the drawing.
type point struct{ X, Y float64 }

// bin is a bar of a histogram.
type bin struct{ Min, Max, Weight float64 }

// tick is a mark on an axis. A tick without a label is drawn shorter.
type tick struct {
	Value float64
	Label string
}

// ticker chooses the ticks of an axis.
type ticker interface {
	Ticks(low, high float64) []tick
}

// fixedTicks is a ticker that returns the same ticks for all bounds.
type fixedTicks []tick

// Ticks implements ticker.
func (t fixedTicks) Ticks(_, _ float64) []tick { return t }

// norm returns the position of a value between the bounds of the axis, from 0 (lower bound) to 1
// (upper bound).
func (a *axis) norm(value float64) float64 {
	if a.log {
		return math.Log(value/a.min) / math.Log(a.max/a.min)
	}
	return (value - a.min) / (a.max - a.min)
}

// within returns the ticks of the axis between its bounds.
func (a *axis) within() (out []tick) {
	const tolerance = 1e-9
	for _, t := range a.ticks.Ticks(a.min, a.max) {
		if at := a.norm(t.Value); at >= -tolerance && at <= 1+tolerance {
			out = append(out, t)
		}
	}
	return out
}

// These are the lengths of the parts of a frame.
const (
	tickLength = 4
	// labelGap separates the label of an axis from the labels of its ticks.
	labelGap = 4
)

// frame is the area in which the points of a chart are drawn, with its axes.
type frame struct {
	x, y                     axis
	xTicks, yTicks           []tick
	left, right, top, bottom float64
}

// newFrame returns a frame that leaves room for the axes and their labels. Its upper and right
// edges are placed so that the last labels just fit.
func newFrame(x, y axis) *frame {
	f := &frame{x: x, y: y, xTicks: x.within(), yTicks: y.within()}
	widest := 0.0
	for _, t := range f.yTicks {
		widest = max(widest, widthOf(t.Label))
	}
	if widest > 0 {
		widest += widthOf(" ")
	}
	f.left = marginLeft + widest + tickLength + 0.5
	f.bottom = chartHeight - marginBottom - lineHeight - tickLength - 0.5
	if x.label != "" {
		f.bottom -= lineHeight + labelGap
	}
	const limitX, limitY = chartWidth - marginRight, marginTop + lineHeight/2
	f.right, f.top = limitX, marginTop
	for _, t := range f.xTicks {
		if at := x.norm(t.Value); at > 0 && t.Label != "" {
			f.right = min(f.right, f.left+(limitX-widthOf(t.Label)/2-f.left)/at)
		}
	}
	for _, t := range f.yTicks {
		if at := y.norm(t.Value); at > 0 && t.Label != "" {
			f.top = max(f.top, f.bottom-(f.bottom-limitY)/at)
		}
	}
	return f
}

// place returns the position of a point in the drawing. A point out of bounds is drawn at the edge.
func (f *frame) place(p point) point {
	inside := func(at float64) float64 { return min(max(at, 0), 1) }
	return point{
		f.left + inside(f.x.norm(p.X))*(f.right-f.left),
		f.bottom - inside(f.y.norm(p.Y))*(f.bottom-f.top),
	}
}

// drawAxes draws the axes with their labels and ticks. For each label of the vertical axis, it
// draws a horizontal line of the grid.
func (f *frame) drawAxes(d *drawing) {
	line := stroke{color: ink{inkGrid, 100, 0}, width: 1}
	below, beside := f.bottom+0.5, f.left-0.5
	labels := below + tickLength + baseline
	for _, t := range f.xTicks {
		at := f.place(point{t.Value, f.y.min}).X
		d.text(t.Label, point{at, labels}, anchorMiddle)
		d.polyline(line, point{at, below}, point{at, below + t.length()})
	}
	d.polyline(line, point{f.left, below}, point{f.right, below})
	d.text(f.x.label, point{(f.left + f.right) / 2, labels + lineHeight + labelGap}, anchorMiddle)
	for _, t := range f.yTicks {
		at := f.place(point{f.x.min, t.Value}).Y
		d.text(t.Label, point{beside - tickLength - widthOf(" "), at + 0.25*textSize}, anchorEnd)
		d.polyline(line, point{beside - t.length(), at}, point{beside, at})
		if t.Label != "" {
			d.polyline(line, point{f.left, at}, point{f.right, at})
		}
	}
	d.polyline(line, point{beside, f.bottom}, point{beside, f.top})
}

func (t tick) length() float64 {
	if t.Label == "" {
		return tickLength / 2
	}
	return tickLength
}

// drawMark draws a region or a vertical line with its text. The text is on the right side, or on
// the left side if there is no room.
func (f *frame) drawMark(d *drawing, m mark) {
	const gap, down = 4, 2
	from, to := f.place(point{m.at, f.y.min}).X, f.place(point{m.to, f.y.min}).X
	at, side, furthest := from+gap, anchorStart, from
	if m.to > m.at {
		d.polygon(ink{inkMuted, 10, 0},
			point{from, f.bottom}, point{to, f.bottom}, point{to, f.top}, point{from, f.top})
		furthest = to
	} else {
		line := stroke{ink{inkMuted, 100, 0}, 1, dashed}
		d.polyline(line, point{from, f.bottom}, point{from, f.top})
	}
	if furthest+widthOf(m.text) > f.right {
		at, side = furthest-gap, anchorEnd
	}
	d.text(m.text, point{at, f.top + down + baseline}, side)
}

// drawLine draws a line with its gaps. A single point between gaps is drawn as a dot.
func (f *frame) drawLine(d *drawing, l line) {
	var part []point
	for i, p := range l.points {
		if !math.IsNaN(p.Y) {
			part = append(part, f.place(p))
		}
		if last := i == len(l.points)-1; last || math.IsNaN(p.Y) {
			f.drawPart(d, l, part)
			part = part[:0]
		}
	}
}

func (f *frame) drawPart(d *drawing, l line, part []point) {
	if len(part) == 0 {
		return
	}
	if len(part) == 1 {
		d.dot(l.color, part[0], max(2, 1.2*l.width))
		return
	}
	if l.area {
		down := []point{{part[0].X, f.bottom}}
		down = append(append(down, part...), point{part[len(part)-1].X, f.bottom})
		d.polygon(ink{l.color.kind, 12, l.color.index}, down...)
	}
	d.polyline(stroke{l.color, l.width, l.dashes}, part...)
}
