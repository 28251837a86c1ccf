package main

import (
	"slices"
	"strings"
	"testing"
)

// TestLargest finds the largest set of files that use each other, directly or through others.
func TestLargest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ uses, knot string }{
		{"a>b b>c", "c"},
		{"a>b b>a c>d d>e e>c", "c d e"},
		{"a>b b>c c>a c>d d>c", "a b c d"},
		{"a>b b>c c>b c>a x>a a>y", "a b c"},
	} {
		g := graph{}
		for _, use := range strings.Fields(c.uses) {
			from, to, _ := strings.Cut(use, ">")
			for _, name := range []string{from, to} {
				if g[name] == nil {
					g[name] = map[string][]string{}
				}
			}
			g[from][to] = append(g[from][to], "x")
		}
		if got := largest(g); !slices.Equal(got, strings.Fields(c.knot)) {
			t.Errorf("%s: %v, not %s", c.uses, got, c.knot)
		}
	}
}

// TestUses checks the graph of this package: main.go uses load.go, limits.go uses measure.go, and
// no two files use each other.
func TestUses(t *testing.T) {
	t.Parallel()
	pkgs, err := load(".")
	if err != nil {
		t.Fatal(err)
	}
	if len(pkgs) != 1 {
		t.Fatalf("%d packages", len(pkgs))
	}
	g := pkgs[0].graph()
	if !slices.Contains(g["main.go"]["load.go"], "load") || !slices.Contains(g["limits.go"]["measure.go"], "knot") ||
		len(g["measure.go"]["main.go"]) > 0 {
		t.Errorf("%v", g)
	}
	if f := measure(pkgs[0]); f.files != 4 || len(f.knot) != 1 || f.lines == 0 || f.longestFile == "" {
		t.Errorf("%+v", f)
	}
}

// TestExceeded checks a package that exceeds each limit, and a package that exceeds none.
func TestExceeded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		figure
		broken int
	}{
		{figure{pkg: "plan", knot: make([]string, 15), longest: maxFile, methods: maxMethods}, 0},
		{figure{pkg: "plan", knot: make([]string, 16)}, 1},
		{figure{pkg: "command/crud", knot: make([]string, 16)}, 1},
		{figure{pkg: "commands", knot: make([]string, 99)}, 0},
		{figure{pkg: "x", longest: maxFile + 1, methods: maxMethods + 1}, 2},
		{figure{pkg: "patterns/queue", methods: maxMethods + 1}, 0},
		{figure{pkg: "x", path: "m/internal/x", lines: maxLines + 1}, 1},
	} {
		if got := exceeded([]figure{c.figure}); len(got) != c.broken {
			t.Errorf("%+v: %v", c.figure, got)
		}
	}
}
