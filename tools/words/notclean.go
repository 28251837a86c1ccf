package main

import (
	"path/filepath"
	"slices"
)

// notClean lists the folders whose findings do not count yet, without the folders inside them. It
// may only get shorter: a folder without a finding must leave it.
var notClean = []string{
}

// changelog is a file, but can be in the list like a folder.
const changelog = "CHANGELOG.md"

// divide returns the findings outside the folders, and the folders without a finding.
func divide(found []finding, folders []string) (counted []finding, clean []string) {
	dirty := map[string]bool{}
	for _, f := range found {
		folder := filepath.Dir(f.path)
		if f.path == changelog {
			folder = changelog
		}
		if !slices.Contains(folders, folder) {
			counted = append(counted, f)
		}
		dirty[folder] = true
	}
	for _, folder := range folders {
		if !dirty[folder] {
			clean = append(clean, folder)
		}
	}
	return counted, clean
}
