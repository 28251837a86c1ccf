// Package docs_test checks what the documents say about the repository.
package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var repositoryPath = regexp.MustCompile(`\b(?:internal|cmd|docs|conformance|bench|tools|sheaftest|patterns|sim|examples|js)(?:/[a-zA-Z0-9_.-]*[a-zA-Z0-9])*`)

// TestArchitecturePathsExist checks that the paths named in architecture.md and in the decisions
// exist.
func TestArchitecturePathsExist(t *testing.T) {
	pages, err := filepath.Glob("decisions/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range append(pages, "architecture.md", "performance.md", "guarantees.md") {
		for _, path := range repositoryPath.FindAllString(read(t, page), -1) {
			if path == "internal" || path == "docs" || strings.HasPrefix(path, "bench/results") {
				continue
			}
			found++
			if _, err := os.Stat(filepath.Join("..", path)); err != nil {
				t.Errorf("%s names %s, which does not exist", page, path)
			}
		}
	}
	if found < 40 {
		t.Errorf("only %d paths found: is the pattern wrong?", found)
	}
}

var link = regexp.MustCompile(`\]\(([^)#:]+)\)`)

// TestLinksLead checks that every relative link of the documents leads to a file.
func TestLinksLead(t *testing.T) {
	var pages []string
	for _, pattern := range []string{
		"*.md", "decisions/*.md", "operations/*.md", "../*.md",
		"../conformance/*.md", "../bench/*.md",
	} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	for _, page := range pages {
		for _, m := range link.FindAllStringSubmatch(read(t, page), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s links to %s, which does not exist", page, m[1])
			}
		}
	}
}

// TestOperationsAreListed checks that the index of the operations links each page, and that each
// page has all parts.
func TestOperationsAreListed(t *testing.T) {
	index := read(t, "operations/README.md")
	pages, err := filepath.Glob("operations/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		name := filepath.Base(page)
		if name == "README.md" {
			continue
		}
		if !strings.Contains(index, "]("+name+")") {
			t.Errorf("operations/README.md does not lead to %s", name)
		}
		text := read(t, page)
		for _, part := range []string{
			"## The problem", "## On Sheaf today",
			"## The design", "## When not", "## Source",
		} {
			if !strings.Contains(text, "\n"+part+"\n") {
				t.Errorf("%s has no part %q", page, part)
			}
		}
		if strings.Contains(text, "```js") && !strings.Contains(text, "not run here") {
			t.Errorf("%s does not say that its commands for a cluster were not run", page)
		}
	}
}

var (
	testLink = regexp.MustCompile(`\[(Test\w+)\]\(([^)]+)\)`)
	testName = regexp.MustCompile(`\bTest[A-Z]\w*`)
	testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
)

// TestNamedTestsExist checks that every test named in guarantees.md and invariants.md exists. If a
// link leads from the test's name to a file, the test must be in that file.
func TestNamedTestsExist(t *testing.T) {
	inFile, all := map[string]map[string]bool{}, map[string]bool{}
	err := filepath.WalkDir("..", func(path string, _ os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, "_test.go") {
			inFile[path] = map[string]bool{}
			for _, m := range testFunc.FindAllStringSubmatch(read(t, path), -1) {
				inFile[path][m[1]], all[m[1]] = true, true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	text := read(t, "guarantees.md") + read(t, "invariants.md")
	links := testLink.FindAllStringSubmatch(text, -1)
	for _, m := range links {
		if !inFile[filepath.Clean(m[2])][m[1]] {
			t.Errorf("%s has no %s", m[2], m[1])
		}
	}
	for _, name := range testName.FindAllString(text, -1) {
		if !all[name] {
			t.Errorf("there is no %s", name)
		}
	}
	if len(links) < 40 {
		t.Errorf("only %d links to tests found: is the pattern wrong?", len(links))
	}
}

var (
	ruleConstant = regexp.MustCompile(`(?m)^\s*(?:const )?([Rr]ule[A-Z]\w*)\s+= "([^"]+)"`)
	ruleName     = regexp.MustCompile("`(\\w+\\.[Rr]ule\\w+)`")
)

// rules returns two maps. texts maps the name of each rule that a package of patterns/ defines,
// such as "ledger.RuleSum", to its text. tests maps each of these packages to the source of its
// tests.
func rules(t *testing.T) (texts, tests map[string]string) {
	t.Helper()
	texts, tests = map[string]string{}, map[string]string{}
	err := filepath.WalkDir("../patterns", func(path string, _ os.DirEntry, err error) error {
		name := filepath.Base(filepath.Dir(path))
		if err == nil && strings.HasSuffix(path, "_test.go") {
			tests[name] += read(t, path)
		} else if err == nil && filepath.Ext(path) == ".go" {
			for _, m := range ruleConstant.FindAllStringSubmatch(read(t, path), -1) {
				texts[name+"."+m[1]] = m[2]
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts, tests
}

// TestNamedRulesExist checks that every rule named in invariants.md is a constant of a pattern.
func TestNamedRulesExist(t *testing.T) {
	texts, _ := rules(t)
	for _, m := range ruleName.FindAllStringSubmatch(read(t, "invariants.md"), -1) {
		if texts[m[1]] == "" {
			t.Errorf("there is no %s", m[1])
		}
	}
}

// TestEachRuleIsBroken checks that each rule that the Check of a pattern can report is named in a
// test of the same package.
func TestEachRuleIsBroken(t *testing.T) {
	texts, tests := rules(t)
	for name, text := range texts {
		dir, _, _ := strings.Cut(name, ".")
		if !strings.Contains(tests[dir], name) && !strings.Contains(tests[dir], text) {
			t.Errorf("no test of %s expects %q", dir, text)
		}
	}
	if len(texts) < 100 {
		t.Errorf("only %d rules found: is the pattern wrong?", len(texts))
	}
}

var heading = regexp.MustCompile(`(?m)^## (.+)$`)

// TestEachPromiseIsExplained checks that the table of guarantees.md links a section for each
// promise. The section must name the limit of the promise and the tests that attack the promise.
func TestEachPromiseIsExplained(t *testing.T) {
	text := read(t, "guarantees.md")
	sections := heading.FindAllStringSubmatchIndex(text, -1)
	for i, at := range sections {
		title, end := text[at[2]:at[3]], len(text)
		if i+1 < len(sections) {
			end = sections[i+1][0]
		}
		anchor := "(#" + strings.ReplaceAll(strings.ToLower(title), " ", "-") + ")"
		if !strings.Contains(text, anchor) {
			t.Errorf("the table does not lead to %q", title)
		}
		for _, part := range []string{"*Limit:*", "*Attacked by*"} {
			if !strings.Contains(text[at[1]:end], part) {
				t.Errorf("%q has no %s", title, part)
			}
		}
	}
}

const maxLines = 600

// TestFilesAreShort enforces the rule that a file has at most 600 lines.
func TestFilesAreShort(t *testing.T) {
	err := filepath.WalkDir("..", func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && path != ".." {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		if lines := strings.Count(read(t, path), "\n"); lines > maxLines {
			t.Errorf("%s has %d lines, more than %d", path, lines, maxLines)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
