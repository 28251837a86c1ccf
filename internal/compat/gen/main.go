// Command gen writes the compatibility page into the file that its argument names.
package main

import (
	"bytes"
	"fmt"
	"os"

	"github.com/sheafdb/sheaf/internal/compat"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("usage: gen FILE")
	}
	var page bytes.Buffer
	if err := compat.Write(&page); err != nil {
		return err
	}
	return os.WriteFile(os.Args[1], page.Bytes(), 0o644)
}
