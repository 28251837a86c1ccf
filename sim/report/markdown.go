package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/sheafdb/sheaf/sim/result"
)

// Markdown writes results for a pull request or an issue: notes, tables, and the facts of each run.
func Markdown(w io.Writer, results ...*result.Result) error {
	b := &strings.Builder{}
	for i, r := range results {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(b, "### %s\n\n", escape(titleOf(r)))
		for _, n := range Notes(r) {
			fmt.Fprintf(b, "> **%s**: %s\n>\n", n.Level, escape(n.Text))
		}
		b.WriteString("\nRuntime in seconds, all other times in milliseconds.\n\n")
		lines := [][]string{columns}
		for _, row := range rows(r, fixedTimes) {
			if row.step {
				row.cells[0] = "· " + row.cells[0]
			}
			lines = append(lines, row.cells)
		}
		pipes(b, lines, len(columns)-2)
		if r.Limit != nil {
			fmt.Fprintf(b, "\n**Greatest load**: %s\n\n", escape(limitText(r.Limit)))
			pipes(b, append([][]string{probeColumns}, probeLines(r.Limit)...), len(probeColumns)-1)
		}
		b.WriteString("\n<details><summary>Facts</summary>\n\n")
		for _, f := range Facts(r) {
			fmt.Fprintf(b, "- %s: %s\n", f.Name, escape(f.Value))
		}
		b.WriteString("\n</details>\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// pipes writes a Markdown table. The first column and the columns from the index texts on hold
// text, the others numbers.
func pipes(b *strings.Builder, lines [][]string, texts int) {
	for n, cells := range lines {
		b.WriteByte('|')
		for _, cell := range cells {
			b.WriteString(" " + escape(cell) + " |")
		}
		b.WriteByte('\n')
		if n > 0 {
			continue
		}
		b.WriteByte('|')
		for i := range cells {
			if i == 0 || i >= texts {
				b.WriteString(" --- |")
			} else {
				b.WriteString(" ---: |")
			}
		}
		b.WriteByte('\n')
	}
}

// escape escapes text for Markdown, because error messages may contain markup.
func escape(text string) string {
	return strings.NewReplacer("\n", " ", "\r", " ", `\`, `\\`, "|", `\|`, "<", "&lt;", "&", "&amp;", "`", "\\`", "*",
		`\*`, "_", `\_`, "[", `\[`).Replace(text)
}
