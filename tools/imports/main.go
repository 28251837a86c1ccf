// Imports checks that the rules for imports say neither more nor less than the code does. It reads
// the depguard rules of .golangci.yml, and the layers of docs/architecture.md. golangci-lint
// refuses the imports that a rule does not allow; this program finds the faults of the rules:
//
//   - a package under internal/ that has no list of allowed packages, or more than one
//   - a pattern of a rule that matches no file
//   - an allowed package that does not exist, or that no file of the rule imports
//   - an allowed package without $ at its end, which also allows all paths that begin with it
//   - a denied package of the module that does not exist
//   - a package under internal/ that docs/architecture.md does not name
//   - an import that does not lead to a lower layer
//
// A package is a folder with Go files. Files for other systems count, nested modules do not. Only
// rules that name test files hold for them, and tests may import all layers.
//
//	go run ./tools/imports   prints the faults, and exits with 1 if there are any
package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
)

const (
	rulesFile  = ".golangci.yml"
	layersFile = "docs/architecture.md"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "imports:", err)
		os.Exit(1)
	}
}

func run() error {
	t, err := load(".")
	if err != nil {
		return err
	}
	config, err := os.ReadFile(rulesFile)
	if err != nil {
		return err
	}
	rules, err := parseRules(config)
	if err != nil {
		return fmt.Errorf("%s: %w", rulesFile, err)
	}
	page, err := os.ReadFile(layersFile)
	if err != nil {
		return err
	}
	l, err := parseLayers(string(page))
	if err != nil {
		return fmt.Errorf("%s: %w", layersFile, err)
	}
	found := slices.Concat(checkRules(t, rules), l.check(t))
	for _, f := range found {
		fmt.Println(f)
	}
	if len(found) > 0 {
		return errors.New("the rules for imports and the code do not agree")
	}
	return nil
}
