// Sizes builds the server and the smallest program that embeds Sheaf, both stripped like `make
// build`. It exits with 1 if a program is larger than its limit.
//
//	go run ./tools/sizes              prints the size and the limit of each program
//	go run ./tools/sizes -packages    also prints the share of each dependency in the size
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

const megabyte = 1e6

// program is a package to build, with the limit of its size in MB.
type program struct {
	name, path string
	limit      float64
}

// programs lists the programs with their limits, which docs/performance.md explains. Raise a limit
// for a feature that is worth the space. Never raise it because a dependency grew unnoticed.
var programs = []program{
	{"server", "./cmd/sheaf", 49.5},
	{"embedded", "./tools/sizes/hello", 33},
}

func main() {
	packages := flag.Bool("packages", false, "show what takes the space, by dependency")
	flag.Parse()
	if err := run(context.Background(), *packages); err != nil {
		fmt.Fprintln(os.Stderr, "sizes:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, packages bool) (err error) {
	dir, err := os.MkdirTemp("", "sizes")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var failed []error
	for _, p := range programs {
		size, err := build(ctx, p.path, filepath.Join(dir, p.name), "-s -w")
		if err != nil {
			return err
		}
		fmt.Printf("%-10s %5.1f MB, limit %g MB\n", p.name, size/megabyte, p.limit)
		if size > p.limit*megabyte {
			failed = append(failed, fmt.Errorf("%s is too large: -packages shows why", p.name))
		}
		if packages {
			if err := showShares(ctx, p.path, filepath.Join(dir, p.name+".symbols"), size); err != nil {
				return err
			}
		}
	}
	return errors.Join(failed...)
}

// build builds the package at path into the file to. It returns the size of the file in bytes.
func build(ctx context.Context, path, to, ldflags string) (float64, error) {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags="+ldflags, "-o", to, path)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("build %s: %w", path, err)
	}
	info, err := os.Stat(to)
	if err != nil {
		return 0, fmt.Errorf("build %s: %w", path, err)
	}
	return float64(info.Size()), nil
}
