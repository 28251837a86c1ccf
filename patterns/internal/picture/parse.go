package main

import (
	"fmt"
	"strings"
)

// group is a heading with the panels under it.
type group struct {
	title  string
	panels []*panel
}

// panel shows the documents of a package, in columns of cards.
type panel struct {
	name, purpose string
	columns       [][]*card
	box
}

// card shows a document of a collection.
type card struct {
	name, remark string
	fields       []field
	column       int
	box
}

type field struct {
	text string
	// target is the card to which an arrow leads.
	target string
	copied bool
}

// box is a rectangle of the picture, in pixels.
type box struct{ x, y, width, height float64 }

// parse reads the text of documents.txt. doc.go describes its form.
func parse(text string) ([]*group, error) {
	var groups []*group
	var p *panel
	for n, line := range strings.Split(text, "\n") {
		depth := len(line) - len(strings.TrimLeft(line, "\t"))
		content := strings.TrimSpace(line)
		title, isGroup := strings.CutPrefix(content, "= ")
		switch {
		case content == "":
		case isGroup:
			groups = append(groups, &group{title: title})
		case len(groups) == 0 || depth > 0 && p == nil:
			return nil, fmt.Errorf("line %d stands under nothing", n+1)
		case depth == 0:
			name, purpose, _ := strings.Cut(content, ": ")
			p = &panel{name: name, purpose: purpose, columns: make([][]*card, 1)}
			g := groups[len(groups)-1]
			g.panels = append(g.panels, p)
		case content == "|":
			p.columns = append(p.columns, nil)
		case depth == 1:
			last := len(p.columns) - 1
			name, remark, _ := strings.Cut(content, " ")
			p.columns[last] = append(p.columns[last], &card{name: name, remark: remark, column: last})
		default:
			if err := p.addField(content); err != nil {
				return nil, fmt.Errorf("line %d: %w", n+1, err)
			}
		}
	}
	return groups, nil
}

func (p *panel) addField(content string) error {
	cards := p.columns[len(p.columns)-1]
	if len(cards) == 0 {
		return fmt.Errorf("the field %q has no card", content)
	}
	f := field{text: content}
	if text, target, ok := strings.Cut(content, " -> "); ok {
		f = field{text: text, target: target}
	} else if text, target, ok := strings.Cut(content, " => "); ok {
		f = field{text: text, target: target, copied: true}
	}
	last := cards[len(cards)-1]
	last.fields = append(last.fields, f)
	return nil
}

func (p *panel) card(name string) *card {
	for _, column := range p.columns {
		for _, c := range column {
			if c.name == name {
				return c
			}
		}
	}
	return nil
}
