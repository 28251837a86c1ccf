package recorded

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// readGroups reads a grouped file.
func readGroups(t *testing.T, path string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out, answer := map[string]string{}, ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		member, ok := strings.CutPrefix(line, "\t")
		if !ok {
			answer = line
			continue
		}
		options, bases, ok := strings.Cut(member, "\t")
		if !ok {
			t.Fatalf("%s: no bases: %s", path, line)
		}
		for base := range strings.SplitSeq(bases, " ") {
			name := base + " " + options
			if _, twice := out[name]; twice {
				t.Fatalf("%s: two answers to %s", path, name)
			}
			out[name] = answer
		}
	}
	return out
}

// writeGroups writes a grouped file.
func writeGroups(t *testing.T, path string, all map[string]string) {
	t.Helper()
	groups := map[string]map[string][]string{} // the bases, by answer and by options
	for _, name := range slices.Sorted(maps.Keys(all)) {
		base, options, ok := strings.Cut(name, " ")
		if !ok {
			t.Fatalf("no base: %s", name)
		}
		group := groups[all[name]]
		if group == nil {
			group = map[string][]string{}
			groups[all[name]] = group
		}
		group[options] = append(group[options], base)
	}
	var b strings.Builder
	for _, answer := range slices.Sorted(maps.Keys(groups)) {
		fmt.Fprintln(&b, answer)
		for _, options := range slices.Sorted(maps.Keys(groups[answer])) {
			fmt.Fprintf(&b, "\t%s\t%s\n", options, strings.Join(groups[answer][options], " "))
		}
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}
