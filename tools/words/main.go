// Words looks for constructions that make comments and documents hard to read, and for lines that
// are too wide. It reads the Go files and Markdown documents that git tracks, and the comments of
// Makefiles and of files in JavaScript, YAML, awk and shell.
//
//	go run ./tools/words                  the findings in all files
//	go run ./tools/words docs sim         the findings in these files and folders
//	go run ./tools/words -count           how many findings there are, by folder and by pattern
//	go run ./tools/words -wrap sim        rewraps comments and documents, and divides lines of code
//
// A finding is a line "file:line: pattern: text (the better form)". The program exits with 1 if
// there is one.
//
// Patterns are looked for in comments and in Markdown, and in cmd, sim, patterns and the root
// package in the texts of string literals too, tests aside. The texts of internal/ imitate MongoDB,
// and are not ours to write. Code blocks, directives, headings and the expected output of examples
// are not text, but the comments in a code block are.
//
// A line of a comment has at most 100 columns, a line of code at most 120, also in a code block or
// table inside a comment. A tab counts as four columns, the spaces of an alignment as one. Lines
// may be wider if they
//   - are in a folder testdata, or in a generated file;
//   - hold a string literal of 60 columns or more, or part of one that spans lines: dividing a text
//     hides it from a search;
//   - are a comment with a URL, a directive, or the expected output of an example: they cannot be
//     divided.
//
// A line of a document has at most 100 columns, or is a single sentence. Code, tables, headings and
// pictures have no limit.
//
// In scripts, Makefiles and YAML files, a line of code may have any width. -wrap does not change
// these files.
//
// After -wrap run `make fmt`: gofumpt and gci have rules of their own for divided literals and
// signatures. Running both again changes nothing.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
)

// finding is a place that should be rewritten.
type finding struct {
	path         string
	line         int
	name, better string
	text         string
}

const (
	wideComment  = "wide-comment"
	wideDocument = "wide-document"
	wideCode     = "wide-code"
	// maxShown is the number of bytes of a finding that are printed at most.
	maxShown = 160
)

func (f finding) String() string {
	text := f.text
	if len(text) > maxShown {
		text = text[:maxShown] + "…"
	}
	return fmt.Sprintf("%s:%d: %s: %s (%s)", f.path, f.line, f.name, text, f.better)
}

func main() {
	count := flag.Bool("count", false, "print the number of findings for each folder and pattern")
	wrap := flag.Bool("wrap", false, "rewrap wide comments and documents, and divide wide lines of code, in the named files and folders")
	flag.Parse()
	if err := run(*count, *wrap, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1)
	}
}

func run(count, wrap bool, paths []string) error {
	files, err := tracked(paths)
	if err != nil {
		return err
	}
	if wrap {
		return wrapFiles(files)
	}
	found, err := scan(files)
	if err != nil {
		return err
	}
	if count {
		printCounts(found)
		return nil
	}
	for _, f := range found {
		fmt.Println(f)
	}
	if len(found) > 0 {
		return fmt.Errorf("%d findings", len(found))
	}
	return nil
}

// tracked lists the files with the given paths that git tracks, or all files if there are no paths.
func tracked(paths []string) ([]string, error) {
	out, err := exec.Command("git", append([]string{"ls-files", "-z", "--"}, paths...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 }), nil
}

func scan(files []string) (found []finding, err error) {
	read := 0
	for _, path := range files {
		if strings.Contains("/"+path, "/testdata/") {
			continue
		}
		src, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			continue // the file is deleted, but still in git's index
		} else if err != nil {
			return nil, err
		}
		some, known, err := scanFile(path, src)
		if err != nil {
			return nil, err
		}
		if known {
			read++
		}
		found = append(found, some...)
	}
	if read == 0 {
		return nil, errors.New("there are no files to read")
	}
	sort.SliceStable(found, func(i, j int) bool {
		return found[i].path < found[j].path || found[i].path == found[j].path && found[i].line < found[j].line
	})
	return found, nil
}

// scanFile returns the findings in a file. It returns false for a file of a kind that is not read.
func scanFile(path string, src []byte) (found []finding, known bool, err error) {
	switch filepath.Ext(path) {
	case ".go":
		found, err = goFile(path, src, ownTexts(path))
		return found, true, err
	case ".md":
		return markdownFile(path, src), true, nil
	}
	sign := commentSign(path, src)
	if sign == "" {
		return nil, false, nil
	}
	return scriptFile(path, src, sign), true, nil
}

// ownTexts reports whether the string literals of a file are checked. Literals in other files may
// imitate messages of MongoDB.
func ownTexts(path string) bool {
	if strings.HasSuffix(path, "_test.go") {
		return false
	}
	folder, _, deep := strings.Cut(path, "/")
	return !deep || folder == "cmd" || folder == "sim" || folder == "patterns" || folder == "sheaftest"
}

func printCounts(found []finding) {
	byFolder, byName := map[string]int{}, map[string]int{}
	for _, f := range found {
		byFolder[filepath.Dir(f.path)]++
		byName[f.name]++
	}
	for _, counts := range []map[string]int{byFolder, byName} {
		var keys []string
		for k := range counts {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		for _, k := range keys {
			fmt.Printf("%6d %s\n", counts[k], k)
		}
		fmt.Println()
	}
	fmt.Printf("%6d in all\n", len(found))
}
