package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// module is the source of a module with every kind of declaration. The comments in the source name
// the expected findings.
var module = map[string]string{
	"go.mod": "module example.org/m\n\ngo 1.26\n",
	"main.go": `package main

import ("fmt"; "example.org/m/internal/a"; "example.org/m/pub")

func main() {
	var n a.Namer = a.New()
	fmt.Println(n.Name(), a.Kind(0), a.Names[a.Used], pub.Version)
	a.Print(a.Stringer{})
}

func dead() { dead() } // nothing
`,
	"pub/pub.go": "package pub\n\nconst Version = 1\n\n// API is public.\nfunc API() {}\n",
	"internal/a/a.go": `package a

import "fmt"

type Namer interface {
	Name() string
	Close() // no one calls it
	Excepted()
	sealed()
}

type named struct{}

func New() *named { helper(); Inner2(); return &named{} }

func (*named) Name() string { return Inner() }
func (*named) Close()       {}
func (*named) sealed()      {}
func (*named) Excepted()    {}
func (*named) Extra()       {} // tests

func helper() {}

func Inner() string { return "" } // exported

func OnlyTests() { below() } // tests

func below() {} // nothing

func Excepted() { belowExcepted() }

func belowExcepted() {}

func Inner2() { Inner() }

func otherSystem() {}

type Kind int

const (
	A Kind = iota
	B
)

type Code int

const (
	Used   Code = 1
	Unused Code = 2 // nothing
)

var Names = map[Code]string{Used: "used", Unused: "unused"}

type Stringer struct{}

func (Stringer) String() string { return "" }

func Print(s fmt.Stringer) { fmt.Println(s) }

type List[T any] struct{} // nothing

func (List[T]) Len() int { return 0 }
`,
	"internal/a/a_plan9.go":     "package a\n\nfunc init() { otherSystem() }\n",
	"internal/a/a_test.go":      "package a\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) { OnlyTests(); New().Extra() }\n",
	"internal/help/help.go":     "package help\n\nfunc Used() {}\n\nfunc Left() {} // nothing\n",
	"internal/a/x_test.go":      "package a_test\n\nimport \"example.org/m/internal/help\"\n\nfunc f() { help.Used() }\n",
	"bench/go.mod":              "module example.org/m/bench\n",
	"bench/bench.go":            "package bench\n\nimport \"example.org/m/internal/a\"\n\nfunc f() { a.Bench() }\n",
	"internal/a/forbench.go":    "package a\n\nfunc Bench() {}\n",
	"internal/a/testdata/no.go": "package no\n\nimport \"example.org/m/internal/a\"\n\nfunc f() { a.Inner() }\n",
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	for name, text := range module {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	p, err := load()
	if err != nil {
		t.Fatal(err)
	}
	found, stale, err := p.find(map[string]string{
		"a.Excepted": "with below", "a.Namer.Excepted": "with the implementation", "a.Inner2": "stays exported",
		"a.New": "is used", "a.Gone": "does not exist",
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range found {
		got = append(got, f.pkg+"."+f.name+": "+f.why)
	}
	want := []string{
		"a.Inner: " + bySelf, "a.List: " + byNothing, "a.OnlyTests: " + byTests,
		"a.Unused: " + byNothing, "a.below: " + byNothing,
		"a.named.Close: " + byNothing, "a.named.Extra: " + byTests,
		"example.org/m.dead: " + byNothing, "help.Left: " + byNothing,
	}
	if !slices.Equal(stale, []string{"a.Gone", "a.New"}) {
		t.Errorf("stale exceptions: %q", stale)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("found\n%q, not\n%q", got, want)
	}
}
