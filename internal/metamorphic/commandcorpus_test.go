package metamorphic

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
)

// corpus has the lines of the data-driven tests of all languages, by their kind. Every operator and
// stage occurs in some line.
type corpus struct {
	filters, updates, expressions, pipelines, projections, commands, documents []string
}

// corpusFiles are the patterns of the files whose lines are the corpus.
var corpusFiles = []string{
	"../filter/testdata/*/*", "../update/testdata/*/*", "../projection/testdata/*",
	"../expr/testdata/*/*", "../pipeline/testdata/*/*",
	"../command/testdata/commands/*", "../command/testdata/transactions/*",
	"../text/testdata/match", "../plan/testdata/explain/*",
}

func readCorpus(t testing.TB) *corpus {
	t.Helper()
	c := &corpus{}
	for _, pattern := range corpusFiles {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatal(pattern, err)
		}
		for _, name := range names {
			if err := c.read(name, strings.Split(filepath.ToSlash(name), "/")[1]); err != nil {
				t.Fatal(err)
			}
		}
	}
	for kind, lines := range c.kinds() {
		if len(*lines) < 50 {
			t.Fatalf("the files have %d %s", len(*lines), kind)
		}
	}
	return c
}

func (c *corpus) kinds() map[string]*[]string {
	return map[string]*[]string{
		"filters": &c.filters, "updates": &c.updates, "expressions": &c.expressions, "pipelines": &c.pipelines,
		"projections": &c.projections,
		"commands":    &c.commands, "documents": &c.documents,
	}
}

// read takes the inputs of a file: blocks of lines, each between a directive and a line of dashes.
func (c *corpus) read(name, pkg string) error {
	raw, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var to *[]string
	begins := true
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			begins = true
		case strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "----"):
			to, begins = nil, false
		case begins:
			directive, _, _ := strings.Cut(line, " ")
			to, begins = c.target(pkg, directive), false
		case to != nil && strings.ContainsAny(line[:1], "{[\"") && len(line) < 4000:
			*to = append(*to, line)
			if pkg == "update" && to != &c.documents {
				to = &c.documents // only the first line is an update
			}
		}
	}
	return nil
}

func (c *corpus) target(pkg, directive string) *[]string {
	switch directive {
	case "docs", "doc", "collection":
		return &c.documents
	case "match", "filter", "query":
		return &c.filters
	case "update", "upsert":
		if pkg == "pipeline" {
			return &c.pipelines
		}
		return &c.updates
	case "eval", "expression":
		return &c.expressions
	case "run":
		if pkg == "command" {
			return &c.commands
		}
		return &c.pipelines
	case "find":
		if pkg == "projection" {
			return &c.projections
		}
		return &c.commands
	case "addFields":
		return &c.projections
	}
	if pkg == "command" {
		return &c.commands
	}
	return nil
}

// pickLine parses a random line. It returns nil if the line is not a value.
func (g *commandGen) pickLine(lines []string) any {
	line := lines[g.IntN(len(lines))]
	d, err := bsonxtest.TryParseD(`{"v": ` + line + `}`)
	if err != nil {
		return nil
	}
	return d[0].Value
}
