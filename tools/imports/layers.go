package main

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// layers is the order of the packages in docs/architecture.md. A package may only import packages
// of layers with a greater number.
type layers struct {
	of      map[string]int // maps a package to the number of its layer; the highest layer is 0
	twice   []string       // packages that are in several layers
	outside map[string]bool
}

var (
	// diagram matches the block of text that has a line for each layer.
	diagram = regexp.MustCompile("(?s)\n## The layers\n.*?\n```text\n(.*?)```\n")
	// outsideRow matches a row of the table of the packages that have no layer.
	outsideRow = regexp.MustCompile("(?m)^\\| (`[^|]*`) \\|")
	quoted     = regexp.MustCompile("`([^`]*)`")
	// layerLine matches a line of the diagram: its indentation, and its packages. Two spaces
	// separate the packages from their description.
	layerLine = regexp.MustCompile(`^( *)(\S+(?:, \S+)*)(?:  .*)?$`)
)

// parseLayers reads the diagram of the layers, and the table of the packages outside of them. Each
// line of the diagram is a layer; the highest one comes first. An indented package is in the folder
// of the last package that is not indented. A name after a comma is a neighbour of the name before
// it, unless it is a path. A Go file stands for its package.
func parseLayers(page string) (*layers, error) {
	found := diagram.FindStringSubmatchIndex(page)
	if found == nil {
		return nil, errors.New("there is no diagram under the heading The layers")
	}
	l := &layers{of: map[string]int{}, outside: map[string]bool{}}
	above := ""
	for n, line := range strings.Split(strings.TrimSuffix(page[found[2]:found[3]], "\n"), "\n") {
		parts := layerLine.FindStringSubmatch(line)
		if parts == nil {
			return nil, fmt.Errorf("no packages in the layer %q", line)
		}
		folder := ""
		if parts[1] != "" {
			folder = above
		}
		for _, name := range strings.Split(parts[2], ", ") {
			name = l.add(n, folder, name)
			if parts[1] == "" {
				above = name
			}
			if strings.Contains(name, "/") {
				folder = path.Dir(name)
			}
		}
	}
	rest, _, _ := strings.Cut(page[found[1]:], "\n## ")
	for _, row := range outsideRow.FindAllStringSubmatch(rest, -1) {
		for _, name := range quoted.FindAllStringSubmatch(row[1], -1) {
			l.outside[name[1]] = true
		}
	}
	return l, nil
}

// add gives a package its layer, and returns its folder.
func (l *layers) add(layer int, folder, name string) string {
	switch {
	case path.Ext(name) == ".go":
		name = path.Dir(name)
	case folder != "" && !strings.Contains(name, "/"):
		name = folder + "/" + name
	}
	if _, ok := l.of[name]; ok {
		l.twice = append(l.twice, name)
	}
	l.of[name] = layer
	return name
}

// check returns the faults of the page, and the imports that do not lead to a lower layer.
func (l *layers) check(t *tree) (found []string) {
	for _, name := range l.twice {
		found = append(found, fmt.Sprintf("%s: %s is in several layers", layersFile, name))
	}
	for name := range l.of {
		if !t.exists(name) {
			found = append(found, fmt.Sprintf("%s: %s has a layer and does not exist", layersFile, name))
		}
		if l.outside[name] {
			found = append(found, fmt.Sprintf("%s: %s has a layer and is outside of the layers", layersFile, name))
		}
	}
	for name := range l.outside {
		if strings.HasPrefix(name, internal) && !t.exists(name) {
			found = append(found, fmt.Sprintf("%s: %s is outside of the layers and does not exist", layersFile, name))
		}
	}
	slices.Sort(found)
	for _, folder := range t.internals() {
		if _, ok := l.of[folder]; !ok && !l.outside[folder] {
			found = append(found, fmt.Sprintf("%s: %s has no layer, and is not named as one that has none", layersFile, folder))
		}
	}
	return append(found, l.checkImports(t)...)
}

// checkImports finds the imports that do not lead to a lower layer, each in one file of a package.
// The highest layer may also import what has no layer.
func (l *layers) checkImports(t *tree) (found []string) {
	seen := map[[2]string]bool{}
	for _, f := range t.files {
		from, ok := l.of[f.folder()]
		if !ok || f.isTest() {
			continue
		}
		for _, folder := range f.imports {
			to, ok := l.of[folder]
			edge := [2]string{f.folder(), folder}
			if seen[edge] || ok && to > from || !ok && from == 0 {
				continue
			}
			seen[edge] = true
			fault := "which is not in a lower layer"
			if !ok {
				fault = "which has no layer"
			}
			found = append(found, fmt.Sprintf("%s: imports %s, %s (%s)", f.path, folder, fault, layersFile))
		}
	}
	return found
}
