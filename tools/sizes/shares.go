package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// least is the smallest share that is shown, in MB.
const least = 0.2

// share is what the symbols of a dependency take, in bytes.
type share struct {
	name       string
	code, data float64
}

// showShares builds a program with symbols, and shows how the size of the stripped one is divided.
// Types and the tables for stacks and panics, half of a program, have no symbols: they are counted
// with the code, in proportion.
func showShares(ctx context.Context, path, to string, size float64) error {
	if _, err := build(ctx, path, to, ""); err != nil {
		return err
	}
	owners, err := ownersOf(ctx, path)
	if err != nil {
		return err
	}
	shares, err := sharesOf(ctx, to, owners)
	if err != nil {
		return err
	}
	code, data := 0.0, 0.0
	for _, s := range shares {
		code, data = code+s.code, data+s.data
	}
	whole := func(s share) float64 { return (s.code*(size-data)/code + s.data) / megabyte }
	slices.SortFunc(shares, func(a, b share) int { return cmp.Compare(whole(b), whole(a)) })
	rest := 0.0
	for _, s := range shares {
		if whole(s) < least {
			rest += whole(s)
			continue
		}
		fmt.Printf("    %5.1f  %s\n", whole(s), s.name)
	}
	fmt.Printf("    %5.1f  %s\n", rest, "others")
	return nil
}

// ownersOf returns to what the symbols of each package are counted: the module, the standard
// library, or, of this module, the folder.
func ownersOf(ctx context.Context, path string) (map[string]string, error) {
	const format = "{{.ImportPath}} {{with .Module}}{{if .Main}}main{{else}}{{.Path}}{{end}}{{end}}"
	out, err := exec.CommandContext(ctx, "go", "list", "-deps", "-f", format, path).Output()
	if err != nil {
		return nil, fmt.Errorf("list the packages: %w", err)
	}
	owners := map[string]string{}
	for line := range strings.Lines(string(out)) {
		pkg, module, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch module {
		case "":
			module = "standard library"
		case "main":
			module = folder(pkg)
		}
		owners[pkg] = module
	}
	return owners, nil
}

// folder names the first two parts of a package's path within this module: internal/plan, patterns.
func folder(pkg string) string {
	parts := strings.Split(pkg, "/")[3:] // behind github.com/sheafdb/sheaf
	if len(parts) > 1 && parts[0] != "internal" {
		parts = parts[:1]
	}
	return "sheaf " + strings.Join(parts[:min(len(parts), 2)], "/")
}

var (
	symbol = regexp.MustCompile(`^ *([0-9a-f]+) +(\d+) ([TtDdRr]) (?:type:\.(?:eq|hash)\.)?(.*)$`)
	// unstored is the symbol behind which data are zero when the program starts, and not in the
	// file.
	unstored = regexp.MustCompile(`(?m)^ *([0-9a-f]+) +\d+ \S runtime\.bss$`)
)

// sharesOf adds up the symbols of a program by their owners.
func sharesOf(ctx context.Context, path string, owners map[string]string) ([]share, error) {
	out, err := exec.CommandContext(ctx, "go", "tool", "nm", "-size", path).Output()
	if err != nil {
		return nil, fmt.Errorf("list the symbols: %w", err)
	}
	end := uint64(math.MaxUint64)
	if m := unstored.FindSubmatch(out); m != nil {
		end, _ = strconv.ParseUint(string(m[1]), 16, 64) // the expression admits digits only
	}
	shares := map[string]*share{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20) // names of generic functions are long
	for lines.Scan() {
		m := symbol.FindStringSubmatch(lines.Text())
		if m == nil || m[4] == "go:func.*" { // which are tables for the code
			continue
		}
		address, _ := strconv.ParseUint(m[1], 16, 64)
		size, _ := strconv.ParseFloat(m[2], 64)
		if address >= end {
			continue
		}
		owner := cmp.Or(owners[packageOf(m[4])], "standard library")
		if shares[owner] == nil {
			shares[owner] = &share{name: owner}
		}
		if strings.EqualFold(m[3], "t") {
			shares[owner].code += size
		} else {
			shares[owner].data += size
		}
	}
	var all []share
	for _, s := range shares {
		all = append(all, *s)
	}
	return all, lines.Err()
}

// packageOf returns the package of a symbol: what is before the first point behind the last slash.
func packageOf(name string) string {
	name, _, _ = strings.Cut(name, "[")
	name, _, _ = strings.Cut(name, "(")
	slash := strings.LastIndex(name, "/")
	if point := strings.Index(name[slash+1:], "."); point >= 0 {
		return strings.ReplaceAll(name[:slash+1+point], "%2e", ".")
	}
	return name
}
