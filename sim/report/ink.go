package report

import (
	"fmt"
	"html/template"
	"image/color"
	"regexp"
	"strconv"
	"strings"
)

// ink is a colour of a chart that the page decides on: one for light screens, another for dark ones. The chart is drawn in placeholders, #KKPPII, which
// recolor replaces with the page's variables.
type ink struct {
	kind    inkKind
	percent uint8 // how opaque it is
	index   uint8 // of a series
}

type inkKind uint8

const (
	inkText   inkKind = iota + 1 // labels
	inkGrid                      // lines of the grid
	inkMuted                     // what stands behind
	inkAccent                    // the scenario of the section
	inkSeries                    // one of several scenarios or runs
	inkBad                       // failures
	inkGood                      // what is better
)

var _ color.Color = ink{}

// RGBA implements color.Color. The half keeps the placeholder from being rounded down.
func (i ink) RGBA() (r, g, b, a uint32) {
	wide := func(x uint8) uint32 { return uint32(x)*257 + 128 }
	return wide(uint8(i.kind)), wide(i.percent), wide(i.index), 0xffff
}

// css is the colour as the page knows it.
func (i ink) css() string {
	name := "--s" + strconv.Itoa(int(i.index)%palette)
	if i.kind != inkSeries {
		name = map[inkKind]string{inkText: "--text-2", inkGrid: "--grid", inkMuted: "--muted", inkAccent: "--accent", inkBad: "--bad", inkGood: "--good"}[i.kind]
	}
	if i.percent >= 100 {
		return "var(" + name + ")"
	}
	return fmt.Sprintf("color-mix(in srgb, var(%s) %d%%, transparent)", name, i.percent)
}

// palette is how many colours of series there are.
const palette = 8

var (
	placeholder = regexp.MustCompile(`#(0[1-7])([0-9A-F]{2})([0-9A-F]{2})`)
	fontStyle   = regexp.MustCompile(`font-family:[^;"]*;font-variant:[^;"]*;font-weight:[^;"]*;font-style:[^;"]*;`)
)

// recolor makes a drawing part of the page: its colours are the page's, its font is the page's, and its size is that of the place it gets.
func recolor(svg string, label string) template.HTML {
	body := svg[strings.Index(svg, "<svg"):]
	end := strings.Index(body, ">")
	body = body[end+1:]
	body = fontStyle.ReplaceAllString(body, "")
	body = placeholder.ReplaceAllStringFunc(body, func(code string) string {
		byteAt := func(i int) uint8 {
			n, _ := strconv.ParseUint(code[i:i+2], 16, 8) // the expression admits nothing else
			return uint8(n)
		}
		return ink{inkKind(byteAt(1)), byteAt(3), byteAt(5)}.css()
	})
	head := fmt.Sprintf(`<svg viewBox="0 0 %d %d" role="img" aria-label="%s" xmlns="http://www.w3.org/2000/svg">`, chartWidth, chartHeight, template.HTMLEscapeString(label))
	return template.HTML(head + body)
}
