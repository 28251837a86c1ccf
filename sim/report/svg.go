package report

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"unicode"
)

// The size of a chart and its margins, in units that the page scales.
const (
	chartWidth   = 560
	chartHeight  = 250
	marginLeft   = 2
	marginRight  = 14
	marginTop    = 10
	marginBottom = 4
)

// The size of a chart's text, and the height of a line of text.
const (
	textSize   = 11.5
	lineHeight = 1.117 * textSize
	// baseline is the distance from the top of a line of text to its baseline.
	baseline = 0.844 * textSize
)

// drawing is an SVG element. The page sets its fonts and colours.
type drawing struct{ strings.Builder }

// newDrawing begins a drawing. Screen readers read its name aloud.
func newDrawing(name string) *drawing {
	d := &drawing{}
	fmt.Fprintf(d, `<svg viewBox="0 0 %d %d" role="img" aria-label="%s" xmlns="http://www.w3.org/2000/svg">`+"\n",
		chartWidth, chartHeight, template.HTMLEscapeString(name))
	return d
}

// end returns the whole element.
func (d *drawing) end() template.HTML {
	d.WriteString("</svg>\n")
	return template.HTML(d.String())
}

// stroke is how a line looks.
type stroke struct {
	color  ink
	width  float64
	dashes string // the lengths of dashes and gaps, "" for a solid line
}

// polyline draws a line through points.
func (d *drawing) polyline(s stroke, points ...point) {
	fmt.Fprintf(d, `<path d="%s" style="fill:none;stroke:%s;stroke-width:%s`,
		pathOf(points), s.color.css(), number(s.width))
	if s.dashes != "" {
		d.WriteString(";stroke-dasharray:" + s.dashes)
	}
	d.WriteString("\" />\n")
}

// polygon fills the area within points.
func (d *drawing) polygon(color ink, points ...point) {
	fmt.Fprintf(d, "<path d=\"%sZ\" style=\"fill:%s\" />\n", pathOf(points), color.css())
}

// dot fills a circle. It draws the circle as two arcs.
func (d *drawing) dot(color ink, center point, radius float64) {
	r, x := number(radius), number(2*radius)
	fmt.Fprintf(d, "<path d=\"M%s,%sa%s,%s 0 1 0 %s,0a%s,%s 0 1 0 -%s,0Z\" style=\"fill:%s\" />\n",
		number(center.X-radius), number(center.Y), r, r, x, r, r, x, color.css())
}

// anchor says which part of a text is at the given position: its start, middle or end.
type anchor string

const (
	anchorStart  anchor = "start"
	anchorMiddle anchor = "middle"
	anchorEnd    anchor = "end"
)

// text writes a line of text, whose baseline is at a point.
func (d *drawing) text(s string, at point, a anchor) {
	if s == "" {
		return
	}
	fmt.Fprintf(d, "<text x=\"%s\" y=\"%s\" style=\"font-size:%gpx;fill:%s;text-anchor:%s\">%s</text>\n",
		number(at.X), number(at.Y), textSize, ink{inkText, 100, 0}.css(), a, template.HTMLEscapeString(s))
}

func pathOf(points []point) string {
	b := strings.Builder{}
	for i, p := range points {
		b.WriteByte("ML"[min(i, 1)])
		b.WriteString(number(p.X) + "," + number(p.Y))
	}
	return b.String()
}

// number formats a coordinate with two digits after the point at most.
func number(x float64) string {
	s := strings.TrimRight(strconv.FormatFloat(x, 'f', 2, 64), "0")
	if s = strings.TrimSuffix(s, "."); s == "-0" {
		return "0"
	}
	return s
}

// glyphWidths are the widths of the characters from the space to the tilde, in thousandths of the
// text size, in Helvetica, Arial and Liberation Sans. The page's font may be another one, so the
// widths are used only for margins.
var glyphWidths = [...]uint16{
	278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, // space to /
	556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, // 0 to ?
	1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778, // @ to O
	667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, // P to _
	333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, // grave accent to o
	556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584, // p to tilde
}

// thinWidth is the width of the narrow space between thousands. usualWidth is the width of all
// other characters that are not in glyphWidths.
const (
	thinWidth  = 200
	usualWidth = 556
)

// widthOf estimates the width of a text.
func widthOf(s string) float64 {
	total := 0
	for _, r := range s {
		switch i := int(r - ' '); {
		case i >= 0 && i < len(glyphWidths):
			total += int(glyphWidths[i])
		case unicode.IsSpace(r):
			total += thinWidth
		default:
			total += usualWidth
		}
	}
	return float64(total) * textSize / 1000
}
