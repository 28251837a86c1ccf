// Packages divides a package: it moves files to other packages, and changes what uses them. It
// exports the names that are used across the new borders, writes the package before them, and
// makes functions of methods whose type stays elsewhere, with the receiver as the first parameter.
//
//	packages -root . -pkg internal/command -plan PLAN -n -uses all   # what the new packages use of each other
//	packages -root . -pkg internal/command -plan PLAN                # move
//
// A line of the plan is one of
//
//	internal/command/crud find.go count.go    these files move to this folder
//	rename NAME NEW                           what is declared as NAME, or as TYPE.NAME, is renamed
//	outside FILE_test.go                      the test moves to the package of the outside tests
//
// It refuses names that would stand twice, local names that hide a package, methods that are used
// as values, and methods of interfaces that would have another name than the interface. It prints
// what export_test.go has to export. Files that the build leaves out on this system (_windows.go)
// are not seen: move them by hand.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	root := flag.String("root", ".", "folder of the module")
	dir := flag.String("pkg", "", "folder of the package that is divided")
	planFile := flag.String("plan", "", "file with the plan")
	dry := flag.Bool("n", false, "print the uses between the new packages, and change nothing")
	filter := flag.String("uses", "", "with -n: print each use between these two packages, as FROM:TO")
	flag.Parse()
	if err := run(*root, *dir, *planFile, *dry, *filter); err != nil {
		fmt.Fprintln(os.Stderr, "move:", err)
		os.Exit(1)
	}
}

func run(root, dir, planFile string, dry bool, filter string) error {
	p, err := readPlan(planFile, dir)
	if err != nil {
		return err
	}
	m, err := load(root, p)
	if err != nil {
		return err
	}
	m.collect()
	if dry {
		m.report(filter)
		return nil
	}
	if err := m.name(); err != nil {
		return err
	}
	return m.write()
}
