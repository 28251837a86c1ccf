package report

import (
	"fmt"
	"strconv"
)

// ink is a colour of a chart. The page maps it to one colour for light screens and another one for
// dark screens.
type ink struct {
	kind    inkKind
	percent uint8 // opacity
	index   uint8 // the number of the series, for inkSeries
}

type inkKind uint8

const (
	inkText   inkKind = iota + 1 // for labels
	inkGrid                      // for the lines of the grid
	inkMuted                     // for backgrounds
	inkAccent                    // for the scenario that the section of the page is about
	inkSeries                    // for one of several scenarios or runs
	inkBad                       // for failures
	inkGood                      // for better figures
)

// css returns the CSS expression for the colour.
func (i ink) css() string {
	name := "--s" + strconv.Itoa(int(i.index)%palette)
	if i.kind != inkSeries {
		name = map[inkKind]string{
			inkText: "--text-2", inkGrid: "--grid", inkMuted: "--muted", inkAccent: "--accent",
			inkBad: "--bad", inkGood: "--good",
		}[i.kind]
	}
	if i.percent >= 100 {
		return "var(" + name + ")"
	}
	return fmt.Sprintf("color-mix(in srgb, var(%s) %d%%, transparent)", name, i.percent)
}

// palette is the number of colours for series.
const palette = 8
