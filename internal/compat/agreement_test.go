package compat

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// testFiles tells where the data-driven tests of a section's names are.
type testFiles struct {
	dir string
	// name returns the file of a name below dir.
	name func(e entry) string
	// others are files below dir that test several names together, or something that has no name.
	others []string
}

func inFamily(e entry) string { return e.family + "/" + bare(e.name) }

func bare(name string) string { return strings.TrimPrefix(name, "$") }

var filesOf = map[string]testFiles{
	"Query predicates": {
		dir: "../filter/testdata", name: func(e entry) string { return strings.ToLower(inFamily(e)) },
		others: []string{"recorded/details.jsonl", "recorded/parsedquery.jsonl", "recorded/positional.jsonl"},
	},
	"Projection": {
		dir: "../projection/testdata", name: projectionFile,
		others: []string{"addfields", "computed", "exclusion", "inclusion", "stage", "unset"},
	},
	"Update operators": {
		dir: "../update/testdata", name: updateFile,
		others: []string{
			"document/conflict", "document/insert", "document/pipeline",
			"document/replacement", "document/upsert",
		},
	},
	"Aggregation stages": {
		dir: "../pipeline/testdata/stage", name: func(e entry) string { return strings.ToLower(bare(e.name)) },
		others: []string{"pipeline", "update"},
	},
	"Accumulators of $group": {
		dir:  "../pipeline/testdata/accumulator",
		name: func(e entry) string { return bare(e.name) },
	},
	"Window functions": {dir: "../pipeline/testdata/window", name: func(e entry) string { return bare(e.name) }},
	"Aggregation expressions": {
		dir: "../expr/testdata", name: inFamily,
		others: []string{"path/path", "serialize/forms"},
	},
}

func projectionFile(e entry) string {
	if e.name == "$" {
		return "positional"
	}
	return strings.ToLower(bare(e.name))
}

func updateFile(e entry) string {
	switch e.name {
	case "$":
		return "path/positional"
	case "$[]":
		return "path/all-positional"
	case "$[<identifier>]":
		return "path/filtered-positional"
	}
	return strings.ToLower(inFamily(e))
}

// aliases lists names that are tested by the file of another name.
var aliases = map[string]string{
	"Aggregation stages $set":        "addfields",
	"Aggregation expressions $const": "literal/literal",
	// The values of a projection's $meta need indexes, which these tests do not have. Its errors
	// are the expression's.
	"Projection $meta": "computed",
}

func (f *testFiles) of(section string, e entry) string {
	return cmp.Or(aliases[section+" "+e.name], f.name(e))
}

// TestNamesHaveTestFiles: each supported name has its test file, and each test file belongs to a
// supported name.
func TestNamesHaveTestFiles(t *testing.T) {
	for _, s := range sections() {
		files, ok := filesOf[s.title]
		if !ok {
			// The names of these sections are tested by Go code.
			if !slices.Contains([]string{"Commands", "Types of index", "Locales of collations"}, s.title) {
				t.Errorf("%s: no test files", s.title)
			}
			continue
		}
		have := listFiles(t, files.dir)
		belongs := map[string]bool{}
		for _, name := range files.others {
			belongs[name] = true
		}
		for _, e := range s.entries {
			if e.status != "supported" {
				continue
			}
			file := files.of(s.title, e)
			belongs[file] = true
			if !slices.Contains(have, file) {
				t.Errorf("%s: %s has no %s/%s", s.title, e.name, files.dir, file)
			}
		}
		for _, file := range have {
			if !belongs[file] {
				t.Errorf("%s/%s belongs to no name that is supported", files.dir, file)
			}
		}
		for file := range belongs {
			if !slices.Contains(have, file) {
				t.Errorf("%s/%s does not exist", files.dir, file)
			}
		}
	}
}

// listFiles returns the files below a directory, without files that fuzzing left there.
func listFiles(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && d.Name() == "fuzz" {
				return filepath.SkipDir
			}
			return err
		}
		name, err := filepath.Rel(dir, path)
		files = append(files, filepath.ToSlash(name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestPageListsNames reads the page as a user does: each name of the registries stands in its
// section, once in its family and under its status, and nothing else does.
func TestPageListsNames(t *testing.T) {
	page, err := os.ReadFile("../../docs/compatibility.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := readPage(t, string(page))
	for _, s := range sections() {
		for _, e := range s.entries {
			key := s.title + " " + e.family + " " + e.name
			if got := listed[key]; got != e.status {
				t.Errorf("%s: %q on the page, %q in the registry", key, got, e.status)
			}
			delete(listed, key)
		}
	}
	for key := range listed {
		t.Errorf("%s is on the page only", key)
	}
}

var (
	pageLine = regexp.MustCompile(`^\*\*(supported|refused|known|absent)(?:, (.*))?\*\*: (.*)\.$`)
	pageName = regexp.MustCompile("`([^`]+)`(?: \\(([^()]*|\\([^()]*\\))*\\))?")
)

// readPage returns the statuses of names, by section, family and name. Families that the page does
// not name are taken from the section.
func readPage(t *testing.T, page string) map[string]string {
	t.Helper()
	families := map[string]string{
		"Commands": "command", "Projection": "projection", "Aggregation stages": "stage",
		"Accumulators of $group":  "accumulator",
		"Aggregation expressions": "accumulator", "Window functions": "window", "Locales of collations": "locale",
	}
	statuses := map[string]string{}
	section := ""
	for line := range strings.Lines(page) {
		line = strings.TrimSuffix(line, "\n")
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section = title
			continue
		}
		m := pageLine.FindStringSubmatch(line)
		if m == nil || section == "" {
			continue
		}
		for _, name := range pageName.FindAllStringSubmatch(m[3], -1) {
			key := section + " " + cmp.Or(m[2], families[section]) + " " + name[1]
			if statuses[key] != "" {
				t.Errorf("%s stands twice on the page", key)
			}
			statuses[key] = m[1]
		}
	}
	return statuses
}
