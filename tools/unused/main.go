// Unused finds declarations that the programs and the public packages of the module do not need:
//
//	nothing   no code names the declaration, or only code that is itself unused
//	tests     only tests use it
//	exported  only its own package uses it, so it could be unexported
//
// It checks functions, methods, types, constants and variables. allowed.go lists the exceptions
// with their reasons.
//
//	go run ./tools/unused            prints the findings, and exits with 1 if there are any
//	go run ./tools/unused -n         prints the number of findings per package
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
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
	found, stale, err := p.find(allowed)
	if err != nil {
		return err
	}
	if count {
		show(found)
		return nil
	}
	for _, f := range found {
		fmt.Println(f)
	}
	for _, name := range stale {
		fmt.Printf("tools/unused/allowed.go: %s has a user, or does not exist\n", name)
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

func (f finding) String() string {
	return fmt.Sprintf("%s: %s.%s: %s", f.place, f.pkg, f.name, f.why)
}
