package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

// packages returns the pattern packages, by their path below the folder patterns.
func packages(t *testing.T) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.Name() != "doc.go" {
			return err
		}
		name, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		if name != "." && name != "patterntest" && !strings.HasPrefix(name, "internal") {
			found = append(found, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 26 {
		t.Fatalf("only %d packages found", len(found))
	}
	return found
}

func panels(t *testing.T) map[string]*panel {
	t.Helper()
	groups, err := parse(description)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*panel{}
	for _, g := range groups {
		for _, p := range g.panels {
			all[p.name] = p
		}
	}
	return all
}

// TestEveryPackageIsShown checks that the picture and the table of the README have each package of
// patterns, and that the picture has no other packages.
func TestEveryPackageIsShown(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	shown := panels(t)
	for _, name := range packages(t) {
		if shown[name] == nil {
			t.Errorf("documents.txt does not have %s", name)
		}
		delete(shown, name)
		if !strings.Contains(string(readme), "| ["+name+"]("+name+"/doc.go) |") {
			t.Errorf("the table of the README does not have %s", name)
		}
	}
	for name := range shown {
		t.Errorf("documents.txt has %s, which is no package", name)
	}
	if !strings.Contains(string(readme), "](documents.svg)") {
		t.Error("the README does not show the picture")
	}
}

var (
	word = regexp.MustCompile(`[A-Za-z_][A-Za-z_.]*`)
	// The driver defines the documents of a GridFS bucket.
	gridFS   = map[string]bool{"assets.chunks": true}
	nameTail = regexp.MustCompile(`: .*`)
)

// TestFieldsAreNamesOfThePackage checks that each name on a card occurs in the source of its
// package.
func TestFieldsAreNamesOfThePackage(t *testing.T) {
	for name, p := range panels(t) {
		source := sources(t, name)
		for _, column := range p.columns {
			for _, c := range column {
				checkCard(t, name, source, c)
			}
		}
	}
}

func checkCard(t *testing.T, name, source string, c *card) {
	t.Helper()
	known := func(name string) bool {
		return regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).MatchString(source)
	}
	if last := c.name[strings.LastIndexByte(c.name, '.')+1:]; !known(c.name) && !known(last) {
		t.Errorf("%s: there is no collection %s", name, c.name)
	}
	if gridFS[c.name] {
		return
	}
	for _, f := range c.fields {
		text := strings.TrimPrefix(f.text, "or ")
		if !strings.Contains(text, "{") {
			for part := range strings.SplitSeq(text, ", ") {
				text = nameTail.ReplaceAllString(part, "")
				for _, w := range word.FindAllString(text, -1) {
					if !known(w) {
						t.Errorf("%s: %s has no field %s", name, c.name, w)
					}
				}
			}
			continue
		}
		if w := word.FindString(text); !known(w) {
			t.Errorf("%s: %s has no field %s", name, c.name, w)
		}
	}
}

// sources returns the text of the files of a package, without the tests.
func sources(t *testing.T, name string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, name, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// TestPictureIsOfTheDescription checks that documents.svg is drawn from documents.txt. `make
// generate` draws it again.
func TestPictureIsOfTheDescription(t *testing.T) {
	file := filepath.Join(t.TempDir(), "documents.svg")
	if err := run([]string{file}); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(root, "documents.svg"))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("documents.svg is not of documents.txt: run make generate")
	}
}

// TestNothingOverlaps checks that cards are inside their panels and do not overlap.
func TestNothingOverlaps(t *testing.T) {
	groups, err := parse(description)
	if err != nil {
		t.Fatal(err)
	}
	layout(groups)
	var all []*panel
	for _, g := range groups {
		all = append(all, g.panels...)
	}
	for i, p := range all {
		if p.x < 0 || p.x+p.width > pictureWidth {
			t.Errorf("%s is wider than the picture", p.name)
		}
		for _, other := range all[:i] {
			if p.overlaps(other.box) {
				t.Errorf("%s lies on %s", p.name, other.name)
			}
		}
		var cards []*card
		for _, column := range p.columns {
			cards = append(cards, column...)
		}
		for j, c := range cards {
			if c.x < p.x || c.x+c.width > p.x+p.width || c.y+c.height > p.y+p.height {
				t.Errorf("%s: the card %s is not inside of its panel", p.name, c.name)
			}
			for _, other := range cards[:j] {
				if c.overlaps(other.box) {
					t.Errorf("%s: %s lies on %s", p.name, c.name, other.name)
				}
			}
		}
	}
}

func (b box) overlaps(o box) bool {
	return b.x < o.x+o.width && o.x < b.x+b.width && b.y < o.y+o.height && o.y < b.y+b.height
}

// TestDescriptionIsChecked checks that texts that cannot be drawn are refused.
func TestDescriptionIsChecked(t *testing.T) {
	for _, text := range []string{
		"p: no group", "= g\n\tcard", "= g\np: field\n\t\tof no card",
		"= g\np: arrow\n\ta\n\t\tx -> b", "= g\np: arrow\n\ta\n\t\tx -> c\n\t|\n\tb\n\t|\n\tc",
	} {
		groups, err := parse(text)
		if err == nil {
			_, err = draw(groups)
		}
		if err == nil {
			t.Errorf("%q is drawn", text)
		}
	}
}
