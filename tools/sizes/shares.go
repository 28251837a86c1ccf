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

// least is the smallest share in MB that showShares prints on a line of its own. It adds up smaller
// shares.
const least = 0.2

// share holds the total size of the symbols of one dependency, in bytes.
type share struct {
	name       string
	code, data float64
}

// showShares builds the program with symbols, and prints the share of each dependency in size,
// which is the size of the program without symbols. Half of a program belongs to no symbol: types,
// and the tables for stacks and panics. That half is divided in proportion to the code.
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

// ownersOf maps each package of the program to the name under which its symbols are counted: the
// package's module, or "standard library". Packages of this module are counted by folder.
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

// folder returns the name under which a package of this module is counted: "sheaf internal/plan",
// "sheaf patterns".
func folder(pkg string) string {
	parts := strings.Split(pkg, "/")[3:] // the parts that follow github.com/sheafdb/sheaf
	if len(parts) > 1 && parts[0] != "internal" {
		parts = parts[:1]
	}
	return "sheaf " + strings.Join(parts[:min(len(parts), 2)], "/")
}

var (
	symbol = regexp.MustCompile(`^ *([0-9a-f]+) +(\d+) ([TtDdRr]) (?:type:\.(?:eq|hash)\.)?(.*)$`)
	// unstored matches the first symbol of the zeroed data. That data has addresses but takes no
	// space in the file.
	unstored = regexp.MustCompile(`(?m)^ *([0-9a-f]+) +\d+ \S runtime\.bss$`)
)

// sharesOf adds up the sizes of the program's symbols by owner.
func sharesOf(ctx context.Context, path string, owners map[string]string) ([]share, error) {
	out, err := exec.CommandContext(ctx, "go", "tool", "nm", "-size", path).Output()
	if err != nil {
		return nil, fmt.Errorf("list the symbols: %w", err)
	}
	end := uint64(math.MaxUint64)
	if m := unstored.FindSubmatch(out); m != nil {
		end, _ = strconv.ParseUint(string(m[1]), 16, 64) // the expression matches only hexadecimal digits
	}
	shares := map[string]*share{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20) // names of generic functions are long
	for lines.Scan() {
		m := symbol.FindStringSubmatch(lines.Text())
		if m == nil || m[4] == "go:func.*" { // go:func.* holds tables that describe functions
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

// packageOf returns the package of a symbol: the name up to the first period after the last slash.
func packageOf(name string) string {
	name, _, _ = strings.Cut(name, "[")
	name, _, _ = strings.Cut(name, "(")
	slash := strings.LastIndex(name, "/")
	if point := strings.Index(name[slash+1:], "."); point >= 0 {
		return strings.ReplaceAll(name[:slash+1+point], "%2e", ".")
	}
	return name
}
