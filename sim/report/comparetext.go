package report

import (
	"fmt"
	"io"
	"strings"
)

var ratioColumns = []string{"scenario", "figure", "unit", "a", "b", "b/a", "95 % interval", "b is"}

// lines returns the ratios of a pair as the rows of a table.
func (p Pair) lines() (out [][]string) {
	name := p.A.Label
	if p.B.Label != name {
		name += " and " + p.B.Label
	}
	for _, r := range p.Ratios {
		out = append(out, []string{
			name, r.Figure, r.Unit, fixed(r.A), fixed(r.B), ratioText(r),
			interval(r), string(r.Verdict),
		})
		name = ""
	}
	return out
}

func ratioText(r Ratio) string {
	if r.Ratio == 0 {
		return "–"
	}
	return "×" + digits3(r.Ratio)
}

func interval(r Ratio) string {
	if r.Low == 0 && r.High == 0 {
		return "–"
	}
	return digits3(r.Low) + " to " + digits3(r.High)
}

// Text writes a comparison for a terminal.
func (c *Comparison) Text(w io.Writer) error {
	b := &strings.Builder{}
	fmt.Fprintf(b, "a: %s · %s\nb: %s · %s\n", titleOf(c.A), strings.Join(summary(c.A), " · "), titleOf(c.B),
		strings.Join(summary(c.B), " · "))
	for _, s := range c.sentences("a", "b") {
		b.WriteString(s + "\n")
	}
	b.WriteByte('\n')
	writePairs(b, c.Pairs)
	_, err := io.WriteString(w, b.String())
	return err
}

// PairsText writes comparisons of designs for a terminal.
func PairsText(w io.Writer, pairs ...Pair) error {
	b := &strings.Builder{}
	for _, p := range pairs {
		for _, s := range p.sentences() {
			b.WriteString(s + "\n")
		}
	}
	writePairs(b, pairs)
	_, err := io.WriteString(w, b.String())
	return err
}

func writePairs(b *strings.Builder, pairs []Pair) {
	lines := [][]string{ratioColumns}
	for _, p := range pairs {
		lines = append(lines, p.lines()...)
	}
	if len(lines) > 1 {
		grid(b, lines, len(ratioColumns)-1)
	}
}

// Markdown writes a comparison for a pull request.
func (c *Comparison) Markdown(w io.Writer) error {
	b := &strings.Builder{}
	fmt.Fprintf(b, "### %s (a) and %s (b)\n\n", escape(titleOf(c.A)), escape(titleOf(c.B)))
	fmt.Fprintf(b, "- a: %s\n- b: %s\n", escape(strings.Join(summary(c.A), " · ")),
		escape(strings.Join(summary(c.B), " · ")))
	for _, s := range c.sentences("a", "b") {
		fmt.Fprintf(b, "- %s\n", escape(s))
	}
	b.WriteByte('\n')
	markdownPairs(b, c.Pairs)
	_, err := io.WriteString(w, b.String())
	return err
}

// PairsMarkdown writes comparisons of designs for a pull request.
func PairsMarkdown(w io.Writer, pairs ...Pair) error {
	b := &strings.Builder{}
	for _, p := range pairs {
		for _, s := range p.sentences() {
			fmt.Fprintf(b, "- %s\n", escape(s))
		}
	}
	b.WriteByte('\n')
	markdownPairs(b, pairs)
	_, err := io.WriteString(w, b.String())
	return err
}

func markdownPairs(b *strings.Builder, pairs []Pair) {
	lines := [][]string{ratioColumns}
	for _, p := range pairs {
		lines = append(lines, p.lines()...)
	}
	if len(lines) > 1 {
		pipes(b, lines, len(ratioColumns)-1)
	}
}

// sentences returns the text before the ratios of a comparison.
func (c *Comparison) sentences(a, b string) (out []string) {
	for _, n := range Notes(c.A) {
		out = append(out, fmt.Sprintf("%s: %s, %s", a, n.Level, n.Text))
	}
	for _, n := range Notes(c.B) {
		out = append(out, fmt.Sprintf("%s: %s, %s", b, n.Level, n.Text))
	}
	for _, d := range c.Differs {
		out = append(out, "The runs differ in "+d)
	}
	for _, p := range c.Pairs {
		out = append(out, p.sentences()...)
	}
	for _, label := range c.OnlyA {
		out = append(out, "Only "+a+" has "+label)
	}
	for _, label := range c.OnlyB {
		out = append(out, "Only "+b+" has "+label)
	}
	return out
}

func (p Pair) sentences() (out []string) {
	name := p.A.Label
	if p.B.Label != name {
		name += " and " + p.B.Label
	}
	for _, d := range p.Differs {
		if len(p.Ratios) == 0 {
			out = append(out, fmt.Sprintf("NOT COMPARED: %s differ in %s", name, d))
		} else {
			out = append(out, fmt.Sprintf("%s differ in %s", name, d))
		}
	}
	for _, d := range p.Doubts {
		out = append(out, fmt.Sprintf("No verdicts for %s: %s", name, d))
	}
	return out
}
