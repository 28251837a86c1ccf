package compat

import (
	"bytes"
	"os"
	"slices"
	"testing"
)

func TestPageIsUpToDate(t *testing.T) {
	want, err := os.ReadFile("../../docs/compatibility.md")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := Write(&got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Error("docs/compatibility.md is out of date: run make generate")
	}
}

// TestEntriesAreWhole: every name has a status that the page explains, and stands in its section
// once.
func TestEntriesAreWhole(t *testing.T) {
	for _, s := range sections() {
		if len(s.entries) == 0 {
			t.Errorf("%s: no entries", s.title)
		}
		seen := map[string]bool{}
		for _, e := range s.entries {
			if e.name == "" || !slices.Contains(statuses, e.status) {
				t.Errorf("%s: %+v", s.title, e)
			}
			key := e.family + " " + e.name
			if seen[key] {
				t.Errorf("%s: %s stands twice", s.title, key)
			}
			seen[key] = true
		}
	}
}
