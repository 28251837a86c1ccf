package main

import (
	_ "embed" // for documents.txt
	"fmt"
	"os"
)

//go:embed documents.txt
var description string

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("one file to write, not %d", len(args))
	}
	groups, err := parse(description)
	if err != nil {
		return err
	}
	picture, err := draw(groups)
	if err != nil {
		return err
	}
	return os.WriteFile(args[0], []byte(picture), 0o644)
}
