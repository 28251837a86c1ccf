package keyspace_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/keyspace"
)

var row = regexp.MustCompile("(?m)^\\| `0x.*$")

// TestPage compares the table of docs/keys.md with Spaces.
func TestPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/keys.md")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, s := range keyspace.Spaces {
		length := "varies"
		if s.Length > 0 {
			length = strconv.Itoa(s.Length)
		}
		want = append(want, fmt.Sprintf("| `0x%02x` | %s | %s | %s | %s |", s.First, s.Name, s.Rest, length,
			strings.Join(s.Writers, ", ")))
	}
	if got := row.FindAllString(string(page), -1); !slices.Equal(got, want) {
		t.Errorf("the page has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

var (
	constant = regexp.MustCompile(`\bkeyspace\.([A-Z]\w*)\b`)
	declared = regexp.MustCompile(`(?m)^\t([A-Z]\w*) += 0x`)
)

// TestWriters checks that the packages that use a first byte are the Writers of its Space, and that
// each constant is in Spaces.
func TestWriters(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("keyspace.go")
	if err != nil {
		t.Fatal(err)
	}
	users := map[string]map[string]bool{}
	for _, m := range declared.FindAllStringSubmatch(string(source), -1) {
		users[m[1]] = map[string]bool{}
	}
	err = filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range constant.FindAllStringSubmatch(string(text), -1) {
			if users[m[1]] != nil {
				users[m[1]][strings.Replace(filepath.ToSlash(filepath.Dir(path)), "..", "internal", 1)] = true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range keyspace.Spaces {
		for _, w := range s.Writers {
			if !users[s.Name][w] {
				t.Errorf("%s does not use %s", w, s.Name)
			}
			delete(users[s.Name], w)
		}
		for other := range users[s.Name] {
			t.Errorf("%s uses %s, and is not one of its writers", other, s.Name)
		}
		delete(users, s.Name)
	}
	for name := range users {
		t.Errorf("%s is not in Spaces", name)
	}
}

// TestSpacesAreInOrder checks that Spaces is sorted and contains no first byte twice.
func TestSpacesAreInOrder(t *testing.T) {
	t.Parallel()
	for i, s := range keyspace.Spaces[1:] {
		if s.First <= keyspace.Spaces[i].First {
			t.Errorf("%s follows %s", s.Name, keyspace.Spaces[i].Name)
		}
	}
}
