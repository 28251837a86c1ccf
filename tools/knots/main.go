// Knots measures how the files of each package hang together: two files belong to one knot if each
// uses, directly or through others, what the other one declares. A package whose files are one
// knot can only be read as a whole.
//
//	go run ./tools/knots            a line for each package
//	go run ./tools/knots -check     exits with 1 where a limit is exceeded
//	go run ./tools/knots -v plan    the uses that tie the largest knot of a package together
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
)

func main() {
	check := flag.Bool("check", false, "exit with 1 where a limit is exceeded")
	verbose := flag.String("v", "", "package under internal/ whose largest knot is shown with its uses")
	flag.Parse()
	if err := run(*check, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "knots:", err)
		os.Exit(1)
	}
}

func run(check bool, verbose string) error {
	pkgs, err := load("./...")
	if err != nil {
		return err
	}
	if verbose != "" {
		return explain(pkgs, verbose)
	}
	var figures []figure
	for _, p := range pkgs {
		figures = append(figures, measure(p))
	}
	show(figures)
	if !check {
		return nil
	}
	if broken := exceeded(figures); len(broken) > 0 {
		return errors.New(strings.Join(broken, "\n       "))
	}
	return nil
}

func show(figures []figure) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "package\tfiles\tlines\tknot\tlongest file\tmost methods")
	for _, f := range figures {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d %s\t%d %s\n", f.pkg, f.files, f.lines, len(f.knot), f.longest,
			f.longestFile, f.methods, f.methodsOf)
	}
	_ = w.Flush()
}

func explain(pkgs []*pkg, name string) error {
	for _, p := range pkgs {
		if p.name() != name {
			continue
		}
		for _, u := range measure(p).uses {
			fmt.Println(u)
		}
		return nil
	}
	return fmt.Errorf("no package %s", name)
}
