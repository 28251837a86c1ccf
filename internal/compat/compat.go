package compat

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/accumulator"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/commands"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/projection"
	"github.com/sheafdb/sheaf/internal/update"
	"github.com/sheafdb/sheaf/internal/window"
)

// entry is a name in a section.
type entry struct {
	name   string
	family string
	status string // one of statuses
	note   string
}

// statuses lists the statuses of a name in the order of the page.
var statuses = []string{"supported", "refused", "known", "absent"}

// section holds the names of one kind.
type section struct {
	title   string
	entries []entry
	text    string // precedes the names
}

func sections() []section {
	return []section{
		{title: "Commands", entries: commandEntries()},
		{title: "Query predicates", entries: features(filter.Operators())},
		{title: "Projection", entries: features(projection.Operators())},
		{title: "Update operators", entries: features(update.Operators())},
		{title: "Aggregation stages", entries: features(pipeline.Stages())},
		{title: "Accumulators of $group", entries: features(accumulator.List())},
		{title: "Window functions", entries: features(window.Functions())},
		{title: "Aggregation expressions", entries: features(expressions.Table().List())},
		{title: "Types of index", entries: indexTypes(), text: indexText},
		{title: "Locales of collations", entries: locales(), text: collationText},
	}
}

func commandEntries() []entry {
	var out []entry
	for _, d := range commands.Definitions() {
		e := entry{name: d.Name, family: "command", status: d.Status.String()}
		switch d.Status {
		case feature.Supported:
			if d.Refuse != nil {
				e.status = "refused"
			}
			if d.Lacks != "" {
				e.note = "without " + d.Lacks
			}
		case feature.Known:
		case feature.Absent:
			e.note = "sharded clusters only"
		}
		if d.TestOnly {
			e.note = "with --enable-test-commands"
		}
		out = append(out, e)
	}
	return out
}

const indexText = `Each type of index has the options of MongoDB's manual; the page [indexes](indexes.md) has examples.
A query never uses a wildcard index for positions in arrays, or for comparisons with MinKey and
MaxKey that match missing fields, because the index would miss documents.
`

func indexTypes() []entry {
	var out []entry
	for _, name := range index.Kinds() {
		out = append(out, entry{name: name, family: "index", status: "supported"})
	}
	return out
}

const collationText = `All fields of a collation are supported, wherever strings are compared. With a
collation, strings have the order of ICU 57.1, as in MongoDB, with two exceptions:

- Characters that Unicode added after version 6.2 (2012) sort after all letters.
- Marks on a letter are compared in canonical order, even if "normalization" is false.
`

func locales() []entry {
	var out []entry
	usable, others := collation.Locales()
	for _, name := range usable {
		out = append(out, entry{name: name, family: "locale", status: "supported"})
	}
	for _, name := range others {
		out = append(out, entry{name: name, family: "locale", status: "known"})
	}
	return out
}

func features(infos []feature.Info) []entry {
	var out []entry
	for _, o := range infos {
		out = append(out, entry{o.Name, o.Family, o.Status.String(), o.Note})
	}
	return out
}

const introduction = `# Compatibility

This page lists the features of MongoDB 8.0, and says which of them Sheaf supports. ` + "`make generate`" + `
writes this page from the registries that the server itself reads.

- **supported**: Sheaf answers like MongoDB. A difference that you find is a bug.
- **refused**: a MongoDB server of the same kind (the only member of a replica set, not in a sharded
  cluster, without users) answers every call with an error, and so does Sheaf.
- **known**: MongoDB has the feature, but Sheaf does not have it yet. A use of the feature returns
  an error, never silence or a wrong result.
- **absent**: only other kinds of MongoDB servers have the feature (sharded clusters, Atlas). Sheaf
  answers like a standalone mongod.
`

// Write writes the page.
func Write(w io.Writer) error {
	var b strings.Builder
	b.WriteString(introduction)
	all := sections()
	b.WriteString("\n| | supported | refused | known | absent |\n|---|---|---|---|---|\n")
	for _, s := range all {
		n := map[string]int{}
		for _, e := range s.entries {
			n[e.status]++
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d |\n", s.title, n["supported"], n["refused"], n["known"], n["absent"])
	}
	for _, s := range all {
		writeSection(&b, s)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeSection(b *strings.Builder, s section) {
	fmt.Fprintf(b, "\n## %s\n", s.title)
	if s.text != "" {
		b.WriteString("\n" + s.text)
	}
	entries := slices.Clone(s.entries)
	slices.SortStableFunc(entries, func(x, y entry) int {
		return cmp.Or(cmp.Compare(x.family, y.family), cmp.Compare(strings.ToLower(x.name), strings.ToLower(y.name)))
	})
	for _, status := range statuses {
		var names []string
		family := ""
		flush := func() {
			if len(names) == 0 {
				return
			}
			label := family
			if strings.EqualFold(label, "command") || label == "stage" || label == "accumulator" ||
				label == "projection" || label == "window" || label == "locale" {
				label = status
			} else {
				label = status + ", " + label
			}
			fmt.Fprintf(b, "\n**%s**: %s.\n", label, strings.Join(names, ", "))
			names = nil
		}
		for _, e := range entries {
			if e.status != status {
				continue
			}
			if e.family != family {
				flush()
				family = e.family
			}
			text := "`" + e.name + "`"
			if e.note != "" && status != "absent" {
				text += " (" + e.note + ")"
			}
			names = append(names, text)
		}
		flush()
	}
}
