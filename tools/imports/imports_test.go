package main

import (
	"slices"
	"strings"
	"testing"
)

// sample is a small module: internal/high imports internal/low, and a test imports internal/high.
func sample() *tree {
	return &tree{module: "example.org/m", files: []file{
		{path: "m.go", imports: []string{"internal/high"}},
		{path: "internal/high/high.go", imports: []string{"internal/low", "internal/low"}},
		{path: "internal/high/high_windows.go", imports: []string{"internal/low/deep"}},
		{path: "internal/low/low.go"},
		{path: "internal/low/low_test.go", imports: []string{"internal/high"}},
		{path: "internal/low/deep/deep.go"},
		{path: "internal/onlytests/x_test.go"},
	}}
}

// right is a configuration for sample without faults.
const right = `
linters:
  settings:
    depguard:
      rules:
        low:
          list-mode: lax
          files: ["**/internal/low/**", "!$test"]
          deny: &module
            - pkg: example.org/m
        high:
          files: ["**/internal/high/*.go", "!$test"]
          deny: *module
          allow:
            - example.org/m/internal/low$
            - example.org/m/internal/low/deep$
        deep:
          files: ["!**/internal/high/**", "!$test"]
          deny:
            - pkg: example.org/m/internal/low/deep
            - pkg: example.org/other
`

const page = `# Page

## The layers

Words.

~~~text
m.go             the program
internal/high    words, more words
internal/low
    deep         words
~~~

| folder | content |
|---|---|
| ~internal/onlytests~, ~tools~ | words with ~internal/low~ |

## More

| ~internal/other~ | words |
`

func faultsOf(t *testing.T, config, page string) []string {
	t.Helper()
	rules, err := parseRules([]byte(config))
	if err != nil {
		t.Fatal(err)
	}
	l, err := parseLayers(strings.ReplaceAll(page, "~", "`"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat(checkRules(sample(), rules), l.check(sample()))
}

// TestFaults makes one change to the configuration or to the page, and expects its fault.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, old, with, want string }{
		{"no fault", "", "", ""},
		{
			"no list", `"**/internal/high/*.go"`, `"**/m.go"`,
			"internal/high has no list of allowed packages",
		},
		{
			"two lists", `"**/internal/low/**"`, `"**/internal/low/**", "**/internal/high/*.go"`,
			"internal/high has several lists of allowed packages: high, low",
		},
		{
			"a rule without files", `"!**/internal/high/**"`, `"**/internal/gone/*.go"`,
			"rule deep: its patterns match no file",
		},
		{
			"a pattern without files", `"**/internal/low/**"`, `"**/internal/low/**", "**/internal/gone/**"`,
			"rule low: the pattern **/internal/gone/** matches no file",
		},
		{
			"an exception without files", `"!**/internal/high/**"`, `"!**/internal/gone/**"`,
			"rule deep: the pattern !**/internal/gone/** matches no file",
		},
		{
			"a package that does not exist", "internal/low/deep$", "internal/gone$",
			"rule high: internal/gone is allowed and does not exist",
		},
		{
			"a folder without Go files", "internal/low/deep$", "internal$",
			"rule high: internal is allowed and does not exist",
		},
		{
			"a package without imports", "internal/low/deep$", "internal/onlytests$",
			"rule high: internal/onlytests is allowed, and no file of the rule imports it",
		},
		{
			"an import of tests", "&module\n            - pkg: example.org/m\n",
			"&module\n            - pkg: example.org/m\n          allow: [example.org/m/internal/high$]\n",
			"rule low: internal/high is allowed, and no file of the rule imports it",
		},
		{"a prefix", "internal/low$", "internal/low", "rule high: example.org/m/internal/low also allows all paths"},
		{"an entry twice", "internal/low/deep$", "internal/low$", "rule high: internal/low is allowed twice"},
		{
			"a denied package that does not exist",
			"pkg: example.org/m/internal/low/deep", "pkg: example.org/m/internal/dee",
			"rule deep: internal/dee is denied and does not exist",
		},
		{
			"an import of a higher layer", "internal/high    words, more words\ninternal/low\n    deep         words\n",
			"internal/low\n    deep\ninternal/high  words\n", "high.go: imports internal/low, which is not in a lower layer",
		},
		{
			"an import of the same layer", "m.go             the program\ninternal/high    words, more words\n",
			"m.go, internal/high  words\n", "m.go: imports internal/high, which is not in a lower layer",
		},
		{
			"no layer", "    deep         words\n", "",
			"internal/low/deep has no layer, and is not named as one that has none",
		},
		{
			"an import without a layer", "    deep         words\n", "",
			"internal/high/high_windows.go: imports internal/low/deep, which has no layer",
		},
		{
			"not outside of the layers", "~internal/onlytests~, ~tools~", "~tools~",
			"internal/onlytests has no layer, and is not named as one that has none",
		},
		{
			"inside and outside", "~internal/onlytests~", "~internal/onlytests~, ~internal/low~",
			"internal/low has a layer and is outside of the layers",
		},
		{
			"a layer that does not exist", "    deep         words\n", "    deep, gone   words\n",
			"internal/low/gone has a layer and does not exist",
		},
		{
			"a package outside that does not exist", "~internal/onlytests~", "~internal/onlytests~, ~internal/gone~",
			"internal/gone is outside of the layers and does not exist",
		},
		{"a package twice", "    deep         words\n", "    deep\n    deep\n", "internal/low/deep is in several layers"},
	} {
		config, text := strings.Replace(right, c.old, c.with, 1), strings.Replace(page, c.old, c.with, 1)
		if c.old != "" && config == right && text == page {
			t.Errorf("%s: nothing is changed", c.name)
		}
		got := faultsOf(t, config, text)
		if c.want == "" && len(got) > 0 || c.want != "" && !slices.ContainsFunc(got, func(f string) bool {
			return strings.Contains(f, c.want)
		}) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// TestWithoutRulesOrLayers: a configuration without rules and a page without a diagram are errors,
// so that the check cannot pass because it read nothing.
func TestWithoutRulesOrLayers(t *testing.T) {
	t.Parallel()
	for _, config := range []string{"", "linters: {}", "linters: {settings: {depguard: {rules: {}}}}", "a: ["} {
		if rules, err := parseRules([]byte(config)); err == nil {
			t.Errorf("%q: %v", config, rules)
		}
	}
	for _, text := range []string{"", "## The layers\n\nWords.\n", strings.Replace(page, "m.go ", "\n\nm.go ", 1)} {
		if l, err := parseLayers(strings.ReplaceAll(text, "~", "`")); err == nil {
			t.Errorf("%q: %v", text, l)
		}
	}
	if tree, err := load(t.TempDir()); err == nil {
		t.Errorf("an empty folder: %v", tree)
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"**/internal/a/*.go", "internal/a/x.go", true},
		{"**/internal/a/*.go", "internal/a/b/x.go", false},
		{"**/internal/a/*.go", "internal/ab/x.go", false},
		{"**/internal/a/**", "internal/a/b/x.go", true},
		{"**/internal/*/b/*.go", "internal/a/b/x.go", true},
		{"**/js/js.go", "js/js.go", true},
		{"$test", "a/x_test.go", true},
		{"$test", "a/x.go", false},
		{"$all", "a/x.go", true},
	} {
		g, err := newGlob(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := g.MatchString("/" + c.path); got != c.want {
			t.Errorf("%s, %s: %v", c.pattern, c.path, got)
		}
	}
}

// TestLoad reads the module that contains this package.
func TestLoad(t *testing.T) {
	t.Parallel()
	got, err := load("../..")
	if err != nil {
		t.Fatal(err)
	}
	if got.module != "github.com/sheafdb/sheaf" || !got.exists("tools/imports") || !got.exists("internal/bsonx") {
		t.Errorf("module %q, %d files", got.module, len(got.files))
	}
	if got.exists("conformance") || got.exists("bench") {
		t.Error("a nested module is not left out")
	}
}
