package main

import (
	"fmt"
	"html"
	"strings"
)

// head is the beginning of the picture. Panels have their own background, so that the picture is
// legible on any page. The colours follow the colour scheme of the reader.
const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %.0[2]f" width="%[1]d" height="%.0[2]f" font-family="system-ui, 'Segoe UI', Helvetica, Arial, sans-serif" font-size="12">
<title>The documents of the pattern packages</title>
<style>
.group{fill:#8a93a0;font-size:17px;font-weight:600}.legend{fill:#8a93a0}
.panel{fill:#f6f8fa;stroke:#d0d7de}.card{fill:#fff;stroke:#afb8c1}.bar{fill:#e3ecf7}
.name{fill:#1f2328;font-size:14px;font-weight:600}.purpose{fill:#59636e;font-size:11px}
.mono{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;font-size:11px;fill:#1f2328;white-space:pre}
.coll{font-weight:700}.remark{fill:#59636e;font-weight:400}
.arrow{fill:none;stroke:#0969da;stroke-width:1.4}.copy{stroke:#bc4c00;stroke-dasharray:4 3}
.tip{fill:#0969da}.copytip{fill:#bc4c00}
@media (prefers-color-scheme:dark){
.panel{fill:#151b23;stroke:#3d444d}.card{fill:#0d1117;stroke:#4a525c}.bar{fill:#1c2a3d}
.name,.mono{fill:#e6edf3}.purpose,.remark{fill:#9198a1}
.arrow{stroke:#58a6ff}.copy{stroke:#f0883e}.tip{fill:#58a6ff}.copytip{fill:#f0883e}
}
</style>
<defs>
<marker id="tip" markerWidth="7" markerHeight="6" refX="6.5" refY="3" orient="auto"><path d="M0 0L7 3L0 6z" class="tip"/></marker>
<marker id="copytip" markerWidth="7" markerHeight="6" refX="6.5" refY="3" orient="auto"><path d="M0 0L7 3L0 6z" class="copytip"/></marker>
</defs>
<path d="M14 18H54" class="arrow" marker-end="url(#tip)"/><text x="62" y="22" class="legend">names a document</text>
<path d="M184 18H224" class="arrow copy" marker-end="url(#copytip)"/><text x="232" y="22" class="legend">is a copy of it, or made of it</text>
`

// draw returns the picture.
func draw(groups []*group) (string, error) {
	height := layout(groups)
	var out strings.Builder
	fmt.Fprintf(&out, head, pictureWidth, height)
	for _, g := range groups {
		fmt.Fprintf(&out, `<text x="%d" y="%.0f" class="group">%s</text>`+"\n", panelGap,
			g.panels[0].y-12, html.EscapeString(g.title))
		for _, p := range g.panels {
			if err := p.draw(&out); err != nil {
				return "", fmt.Errorf("%s: %w", p.name, err)
			}
		}
	}
	out.WriteString("</svg>\n")
	return out.String(), nil
}

func (p *panel) draw(out *strings.Builder) error {
	fmt.Fprintf(out, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="6" class="panel"/>`, p.x, p.y, p.width, p.height)
	fmt.Fprintf(out, `<text x="%.1f" y="%.1f" class="name">%s</text>`, p.x+panelPadding,
		p.y+20, html.EscapeString(p.name))
	fmt.Fprintf(out, `<text x="%.1f" y="%.1f" class="purpose">%s</text>`+"\n", p.x+panelPadding,
		p.y+36, html.EscapeString(p.purpose))
	for _, column := range p.columns {
		for _, c := range column {
			c.draw(out)
		}
	}
	for _, column := range p.columns {
		for _, c := range column {
			if err := p.drawArrows(out, c); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *card) draw(out *strings.Builder) {
	fmt.Fprintf(out, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="4" class="card"/>`, c.x, c.y, c.width, c.height)
	fmt.Fprintf(out, `<rect x="%.1f" y="%.1f" width="%.1f" height="%d" rx="3" class="bar"/>`, c.x+1, c.y+1, c.width-2, cardHead-4)
	fmt.Fprintf(out, `<text x="%.1f" y="%.1f" class="mono coll">%s`, c.x+cardPadding, c.y+14, html.EscapeString(c.name))
	if c.remark != "" {
		fmt.Fprintf(out, `<tspan class="remark"> %s</tspan>`, html.EscapeString(c.remark))
	}
	out.WriteString("</text>\n")
	for i, f := range c.fields {
		fmt.Fprintf(out, `<text x="%.1f" y="%.1f" class="mono">%s</text>`+"\n", c.x+cardPadding,
			c.line(i)+4, html.EscapeString(f.text))
	}
}

// line returns the vertical middle of the line of a field.
func (c *card) line(i int) float64 { return c.y + cardHead + lineHeight*(float64(i)+0.5) }

func (p *panel) drawArrows(out *strings.Builder, c *card) error {
	arrived := map[string]int{}
	for i, f := range c.fields {
		if f.target == "" {
			continue
		}
		target := p.card(f.target)
		if target == nil {
			return fmt.Errorf("an arrow leads to %s, which has no card", f.target)
		}
		class, tip := "arrow", "tip"
		if f.copied {
			class, tip = "arrow copy", "copytip"
		}
		// If several arrows lead from one card to another, their ends are a little apart.
		y1, y2 := c.line(i), target.y+8+5*float64(arrived[f.target])
		arrived[f.target]++
		x1, x2, bend1, bend2 := c.x+c.width, target.x, columnGap*0.55, -columnGap*0.55
		switch target.column - c.column {
		case 1:
		case -1:
			x1, x2, bend1, bend2 = c.x, target.x+target.width, bend2, bend1
		case 0:
			x2, bend1, bend2 = target.x+target.width, selfArrowRoom, selfArrowRoom
		default:
			return fmt.Errorf("the arrow from %s to %s would run through a card", c.name, f.target)
		}
		fmt.Fprintf(out, `<path d="M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f" class="%s" marker-end="url(#%s)"/>`+"\n",
			x1, y1, x1+bend1, y1, x2+bend2, y2, x2, y2, class, tip)
	}
	return nil
}
