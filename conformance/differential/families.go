package main

import (
	"fmt"
	"slices"
	"strings"
)

const (
	// These are the families that have neither expressions nor stages of their own. familyCRUD has
	// the commands without a pipeline. familyOutput has $out and $merge. familyView has views,
	// joined collections, variables, and expressions in find. familyWrite has updates by a
	// pipeline.
	familyCRUD   = "crud"
	familyOutput = "output"
	familyView   = "view"
	familyWrite  = "write"
)

// families lists the families of a run. An empty list means all families.
type families []string

// parseFamilies parses the value of the flag -families.
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

// familyNames lists the names of all families: of commands, of expressions and of stages.
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

// pipelines reports whether the run has pipelines: another family than familyCRUD.
func (f families) pipelines() bool { return len(f) != 1 || f[0] != familyCRUD }
