package main

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// rule is a rule of depguard.
type rule struct {
	name     string
	Files    []string
	Allow    []string
	Deny     []struct{ Pkg string }
	patterns []pattern
}

// pattern is an element of Files. If excludes is true, the rule does not hold for the files that it
// matches.
type pattern struct {
	text     string
	glob     *regexp.Regexp // matches absolute paths
	excludes bool
}

// parseRules returns the depguard rules of a configuration of golangci-lint, sorted by name.
func parseRules(config []byte) ([]rule, error) {
	var c struct {
		Linters struct {
			Settings struct {
				Depguard struct{ Rules map[string]rule }
			}
		}
	}
	if err := yaml.Unmarshal(config, &c); err != nil {
		return nil, err
	}
	byName := c.Linters.Settings.Depguard.Rules
	if len(byName) == 0 {
		return nil, errors.New("there are no rules of depguard")
	}
	var rules []rule
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		r := byName[name]
		r.name = name
		for _, text := range r.Files {
			glob, excludes := strings.CutPrefix(text, "!")
			compiled, err := newGlob(glob)
			if err != nil {
				return nil, fmt.Errorf("rule %s: %w", name, err)
			}
			r.patterns = append(r.patterns, pattern{text, compiled, excludes})
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// isList reports whether the rule denies the whole module, so that Allow lists all packages that
// its files may import.
func (r *rule) isList(t *tree) bool {
	return slices.ContainsFunc(r.Deny, func(d struct{ Pkg string }) bool { return d.Pkg == t.module })
}

// matches reports whether the rule holds for a file: a pattern matches it, or all patterns exclude
// files, and no pattern excludes it.
func (r *rule) matches(path string) bool {
	included, all := false, true
	for _, p := range r.patterns {
		matched := p.matches(path)
		if p.excludes && matched {
			return false
		}
		all = all && p.excludes
		included = included || matched
	}
	return included || all
}

// matches reports whether a pattern matches a file of the repository.
func (p *pattern) matches(path string) bool { return p.glob.MatchString("/" + path) }

// newGlob compiles a pattern of depguard.
func newGlob(text string) (*regexp.Regexp, error) {
	switch text {
	case "$all":
		text = "**"
	case "$test":
		text = "**_test.go"
	}
	text = regexp.QuoteMeta(text)
	text = strings.ReplaceAll(text, `\*\*`, `.*`)
	text = strings.ReplaceAll(text, `\*`, `[^/]*`)
	return regexp.Compile("^" + text + "$")
}

// checkRules returns the faults of the rules.
func checkRules(t *tree, rules []rule) (found []string) {
	lists := map[string][]string{}
	for _, r := range rules {
		var matched []file
		folders := map[string]bool{}
		for _, f := range t.files {
			if r.matches(f.path) {
				matched = append(matched, f)
				folders[f.folder()] = true
			}
		}
		if r.isList(t) {
			for folder := range folders {
				lists[folder] = append(lists[folder], r.name)
			}
		}
		for _, fault := range slices.Concat(r.checkFiles(t, matched), r.checkAllowed(t, matched), r.checkDenied(t)) {
			found = append(found, fmt.Sprintf("%s: rule %s: %s", rulesFile, r.name, fault))
		}
	}
	for _, folder := range t.internals() {
		switch names := lists[folder]; {
		case len(names) == 0 && t.hasCode(folder):
			found = append(found, fmt.Sprintf("%s: %s has no list of allowed packages", rulesFile, folder))
		case len(names) > 1:
			found = append(found, fmt.Sprintf("%s: %s has several lists of allowed packages: %s", rulesFile, folder,
				strings.Join(names, ", ")))
		}
	}
	return found
}

// checkFiles finds the patterns that match no file.
func (r *rule) checkFiles(t *tree, matched []file) (faults []string) {
	if len(matched) == 0 {
		faults = append(faults, "its patterns match no file")
	}
	for _, p := range r.patterns {
		if !slices.ContainsFunc(t.files, func(f file) bool { return p.matches(f.path) }) {
			faults = append(faults, fmt.Sprintf("the pattern %s matches no file", p.text))
		}
	}
	return faults
}

// checkAllowed finds the allowed packages of the module that the rule does not need.
func (r *rule) checkAllowed(t *tree, matched []file) (faults []string) {
	imported := map[string]bool{}
	for _, f := range matched {
		for _, folder := range f.imports {
			imported[folder] = true
		}
	}
	seen := map[string]bool{}
	for _, allowed := range r.Allow {
		name, exact := strings.CutSuffix(allowed, "$")
		folder, own := t.folder(name)
		if !own {
			continue
		}
		switch {
		case !exact:
			faults = append(faults, allowed+" also allows all paths that begin with it: add $")
		case seen[folder]:
			faults = append(faults, folder+" is allowed twice")
		case !t.exists(folder):
			faults = append(faults, folder+" is allowed and does not exist")
		case !imported[folder]:
			faults = append(faults, folder+" is allowed, and no file of the rule imports it")
		}
		seen[folder] = true
	}
	return faults
}

// checkDenied finds the denied packages of the module that do not exist.
func (r *rule) checkDenied(t *tree) (faults []string) {
	for _, d := range r.Deny {
		folder, own := t.folder(d.Pkg)
		if own && d.Pkg != t.module && !slices.ContainsFunc(t.files, func(f file) bool {
			return strings.HasPrefix(f.path, folder+"/")
		}) {
			faults = append(faults, folder+" is denied and does not exist")
		}
	}
	return faults
}
