package main

import "unicode/utf8"

// The geometry of the picture, in pixels.
const (
	pictureWidth = 1180
	// charWidth is the width of a character of a field: 0.6 em of 11 px.
	charWidth = 6.65
	// wordWidth is the approximate width of a character of a purpose.
	wordWidth    = 6.1
	lineHeight   = 16
	cardHead     = 22
	cardPadding  = 8
	cardGap      = 14
	columnGap    = 46
	panelHead    = 48
	panelPadding = 14
	panelGap     = 14
	groupHead    = 40
	legendHeight = 34
	// selfArrowRoom is the space to the right of a column whose cards have arrows to each other.
	selfArrowRoom = 22
)

// layout places all panels and cards, and returns the height of the picture. It puts as many panels
// into a row as fit. The panels of a row share the width that is left.
func layout(groups []*group) float64 {
	y := float64(legendHeight)
	for _, g := range groups {
		y += groupHead
		var line []*panel
		used := 0.0
		for _, p := range g.panels {
			p.measure()
			if len(line) > 0 && used+p.width > pictureWidth-2*panelGap {
				y = placeLine(line, y)
				line, used = nil, 0
			}
			line = append(line, p)
			used += p.width + panelGap
		}
		y = placeLine(line, y)
	}
	return y
}

// placeLine places the panels of a row at height y, and returns the height of the next row.
func placeLine(line []*panel, y float64) float64 {
	rest, highest := float64(pictureWidth-panelGap), 0.0
	for _, p := range line {
		rest -= p.width + panelGap
		highest = max(highest, p.height)
	}
	x := float64(panelGap)
	for _, p := range line {
		p.x, p.y = x, y
		share := rest / float64(len(line))
		p.placeCards(share / float64(len(p.columns)+1))
		p.width, p.height = p.width+share, highest
		x += p.width + panelGap
	}
	return y + highest + panelGap
}

// measure sets the size of the panel and of its cards.
func (p *panel) measure() {
	p.width, p.height = panelPadding, 0
	for i, column := range p.columns {
		width, height := columnSize(column)
		for _, c := range column {
			c.width = width
		}
		p.width += width + p.roomBehind(i)
		p.height = max(p.height, panelHead+height+panelPadding-cardGap)
	}
	p.width += panelPadding
	p.width = max(p.width, 2*panelPadding+wordWidth*float64(utf8.RuneCountInString(p.purpose)))
}

// columnSize returns the width of the cards of a column, and the height of the column. It sets the
// height of each card.
func columnSize(column []*card) (width, height float64) {
	for _, c := range column {
		characters := utf8.RuneCountInString(c.name + c.remark)
		if c.remark != "" {
			characters++
		}
		for _, f := range c.fields {
			characters = max(characters, utf8.RuneCountInString(f.text))
		}
		width = max(width, 2*cardPadding+charWidth*float64(characters))
		c.height = cardHead + lineHeight*float64(len(c.fields)) + cardPadding
		height += c.height + cardGap
	}
	return width, height
}

// roomBehind returns the width of the free space to the right of a column.
func (p *panel) roomBehind(column int) float64 {
	if column < len(p.columns)-1 {
		return columnGap
	}
	for _, c := range p.columns[column] {
		for _, f := range c.fields {
			if target := p.card(f.target); target != nil && target.column == column {
				return selfArrowRoom
			}
		}
	}
	return 0
}

// placeCards places the cards in their panel. more is the additional space between the columns.
func (p *panel) placeCards(more float64) {
	x := p.x + panelPadding + more
	for i, column := range p.columns {
		y := p.y + panelHead
		for _, c := range column {
			c.x, c.y = x, y
			y += c.height + cardGap
		}
		x += column[0].width + p.roomBehind(i) + more
	}
}
