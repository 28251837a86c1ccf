package main

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// The geometry of the chart, in pixels.
const (
	chartWidth  = 860
	labelWidth  = 380
	barHeight   = 14
	rowHeight   = 22
	headHeight  = 34
	valueMargin = 90
)

// chart draws the claims with the unit "x" as bars on a logarithmic axis, with a stroke at each
// target. The length of a bar is the measured ratio, not the ratio of measured to target, so it
// shows how much faster than a peer Sheaf is. The date of the run is printed below.
func chart(claims []verdict, date string) string {
	var rows []verdict
	low, high := 0.25, 2.0
	for _, v := range claims {
		if v.Unit != "x" || v.Measured == nil {
			continue
		}
		rows = append(rows, v)
		low = min(low, *v.Measured, v.Target)
		high = max(high, *v.Measured, v.Target)
	}
	low, high = math.Log2(low)-0.2, math.Log2(high)+0.2
	x := func(v float64) float64 {
		return labelWidth + (math.Log2(v)-low)/(high-low)*(chartWidth-labelWidth-valueMargin)
	}
	var body strings.Builder
	y, group := 8, ""
	for _, v := range rows {
		if v.Group != group {
			group = v.Group
			y += headHeight
			fmt.Fprintf(&body, `<text x="12" y="%d" class="head">%s</text>`+"\n", y-10, html.EscapeString(group))
		}
		drawBar(&body, v, y, x)
		y += rowHeight
	}
	axisTop, axisBottom := 36, y
	var axis strings.Builder
	for e := math.Ceil(low); e <= high; e++ {
		at, class := x(math.Exp2(e)), "grid"
		if e == 0 {
			class = "one"
		}
		fmt.Fprintf(&axis, `<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" class="%s"/>`, at, at, axisTop, axisBottom, class)
		fmt.Fprintf(&axis, `<text x="%.1f" y="%d" class="tick">%gx</text>`+"\n", at, axisBottom+14, math.Exp2(e))
	}
	const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="system-ui, sans-serif" font-size="12">
<style>.head{font-weight:600;font-size:14px}.tick{text-anchor:middle;fill:#666;font-size:11px}.grid{stroke:#ddd}.one{stroke:#888}.target{stroke:#111;stroke-width:2}
.label{text-anchor:end}.ok{fill:#2e8b57}.short{fill:#d98a29}</style>
<rect width="100%%" height="100%%" fill="#fff"/>
`
	height := y + 44
	note := fmt.Sprintf(`<text x="12" y="%d" class="tick" style="text-anchor:start">Bar: measured, green where the target (black stroke) is met. Logarithmic. %s.</text>`,
		height-8, html.EscapeString(date))
	return fmt.Sprintf(head, chartWidth, height, chartWidth, height) + axis.String() +
		body.String() + note + "\n</svg>\n"
}

// drawBar draws a claim: its name, a bar from 1x to the measured value, the target and the value.
func drawBar(b *strings.Builder, v verdict, y int, x func(float64) float64) {
	from, to := x(1), x(*v.Measured)
	if from > to {
		from, to = to, from
	}
	name, _, _ := strings.Cut(v.Name, " ÷ PostgreSQL")
	fmt.Fprintf(b, `<text x="%d" y="%d" class="label">%s</text>`, labelWidth-12, y+11, html.EscapeString(name))
	fmt.Fprintf(b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" class="%s"/>`, from, y, max(to-from, 1), barHeight, v.Verdict)
	fmt.Fprintf(b, `<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" class="target"/>`, x(v.Target), x(v.Target), y-2, y+barHeight+2)
	fmt.Fprintf(b, `<text x="%d" y="%d">%s</text>`+"\n", chartWidth-valueMargin+24, y+11, quantity(*v.Measured, v.Unit))
}
