// Unused finds declarations of the module that its programs and public packages do not need:
//
//	nothing   no code names it, or only code that is itself unused
//	tests     only tests use it
//	exported  only its own package uses it: it could be unexported
//
// It reports functions, methods, types, constants and variables. allowed.go lists the exceptions
// with their reasons.
//
//	go run ./tools/unused            fails if it finds something
//	go run ./tools/unused -n         counts per package instead
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
)

func main() {
	count := flag.Bool("n", false, "print the number of findings of each package and succeed")
	flag.Parse()
	if err := run(*count); err != nil {
		fmt.Fprintln(os.Stderr, "unused:", err)
		os.Exit(1)
	}
}

func run(count bool) error {
	p, err := load()
	if err != nil {
		return err
	}
	found, err := p.find()
	if err != nil {
		return err
	}
	if count {
		show(found)
		return nil
	}
	found, stale := except(found, allowed)
	for _, f := range found {
		fmt.Println(f)
	}
	for _, name := range stale {
		fmt.Printf("tools/unused/allowed.go: %s is no finding\n", name)
	}
	if len(found)+len(stale) > 0 {
		return errors.New("delete or unexport these, or list them in tools/unused/allowed.go with a reason")
	}
	return nil
}

func show(found []finding) {
	counts := map[string]map[string]int{}
	var pkgs []string
	for _, f := range found {
		if counts[f.pkg] == nil {
			counts[f.pkg] = map[string]int{}
			pkgs = append(pkgs, f.pkg)
		}
		counts[f.pkg][f.why]++
	}
	slices.Sort(pkgs)
	for _, pkg := range pkgs {
		c := counts[pkg]
		fmt.Printf("%-40s nothing %d  tests %d  exported %d\n", pkg, c[byNothing], c[byTests], c[bySelf])
	}
}

// except removes the allowed findings, and returns the exceptions without a finding.
func except(found []finding, allowed map[string]string) (rest []finding, stale []string) {
	used := map[string]bool{}
	for _, f := range found {
		name, hit := f.exception(allowed)
		if hit {
			used[name] = true
		} else {
			rest = append(rest, f)
		}
	}
	for name := range allowed {
		if !used[name] {
			stale = append(stale, name)
		}
	}
	slices.Sort(stale)
	return rest, stale
}

// exception returns the entry of allowed that covers a finding: its own, or its package's
// ("PKG.*").
func (f finding) exception(allowed map[string]string) (string, bool) {
	for _, name := range []string{f.pkg + "." + f.name, f.pkg + ".*"} {
		if _, ok := allowed[name]; ok {
			return name, true
		}
	}
	return "", false
}

func (f finding) String() string {
	return fmt.Sprintf("%s: %s.%s: %s", f.place, f.pkg, f.name, strings.ReplaceAll(f.why, "_", " "))
}
