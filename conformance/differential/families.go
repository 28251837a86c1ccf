package main

import (
	"fmt"
	"slices"
	"strings"
)

const (
	// familyCRUD is the family of the commands that are no pipelines, familyOutput that of $out and
	// $merge, familyView that of views, second collections, variables and expressions in find,
	// familyWrite that of updates by a pipeline.
	familyCRUD   = "crud"
	familyOutput = "output"
	familyView   = "view"
	familyWrite  = "write"
)

// families are the families that a run takes; none means all.
type families []string

// parseFamilies reads the value of -families.
func parseFamilies(text string) (families, error) {
	if text == "" {
		return nil, nil
	}
	list := families(strings.Split(text, ","))
	for _, f := range list {
		if !slices.Contains(familyNames(), f) {
			return nil, fmt.Errorf("there is no family %q: they are %s", f, strings.Join(familyNames(), ", "))
		}
	}
	return list, nil
}

// familyNames lists the families: the commands, those of expressions, those of stages.
func familyNames() []string {
	names := []string{familyCRUD, familyOutput, familyView, familyWrite}
	for _, o := range operatorTable() {
		names = append(names, o.family)
	}
	for _, s := range stageTable() {
		names = append(names, s.family)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (f families) has(name string) bool { return len(f) == 0 || slices.Contains(f, name) }

// pipelines reports whether some family other than the commands is taken.
func (f families) pipelines() bool { return len(f) != 1 || f[0] != familyCRUD }
