package argtest

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/internal/limits"
)

//go:embed names.jsonl
var nameLines string

// named are the names of collections and namespaces that the commands of the bases use.
var named = []string{"c", "d", "v", "nothing", "args.c", "args.d"}

// Names returns the arguments that are the name of a collection or a namespace. It looks in all
// bases and in names.jsonl, which adds commands with names in stages and options.
func Names() ([]Argument, error) {
	bases, err := Bases()
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(nameLines) {
		b := Base{DB: "args"}
		if err := bson.UnmarshalExtJSON([]byte(line), false, &b); err != nil {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
		bases = append(bases, b)
	}
	var out []Argument
	for i := range bases {
		if b := &bases[i]; b.Skip == "" {
			for _, path := range namesWithin(nil, b.Command) {
				if path == b.Command[0].Key {
					path = ""
				}
				out = append(out, Argument{b, path})
			}
		}
	}
	return slices.DeleteFunc(out, func(a Argument) bool { // drop variants of a command that have the same name argument
		return a.Path == "" && strings.ContainsRune(a.Base.Name, '/') &&
			slices.ContainsFunc(out, func(b Argument) bool {
				return b.Path == "" && strings.HasPrefix(a.Base.Name, b.Base.Name+"/")
			}) && !strings.HasPrefix(a.Base.Name, "create/")
	}), nil
}

// namesWithin returns the paths of the collection names in a document.
func namesWithin(prefix []string, doc bson.D) []string {
	var out []string
	for _, e := range doc {
		path := append(slices.Clone(prefix), e.Key)
		switch v := e.Value.(type) {
		case string:
			if slices.Contains(named, v) && !slices.Contains(notNames, e.Key) {
				out = append(out, strings.Join(path, "."))
			}
		case bson.D:
			out = append(out, namesWithin(path, v)...)
		case bson.A:
			for i, elem := range v {
				if inner, ok := elem.(bson.D); ok {
					out = append(out, namesWithin(append(path, strconv.Itoa(i)), inner)...)
				}
			}
		}
	}
	return out
}

// notNames are fields whose value is not the name of a collection, although it looks like one.
var notNames = []string{"key", "as", "name"}

// IsNamespace reports whether the value of the argument is a database and a collection name joined
// by a dot.
func (a Argument) IsNamespace() bool {
	path := strings.Split(a.Path, ".")
	if a.Path == "" {
		path = []string{a.Base.Command[0].Key}
	}
	var v any = a.Base.Command
	for _, key := range path {
		switch in := v.(type) {
		case bson.D:
			i := slices.IndexFunc(in, func(e bson.E) bool { return e.Key == key })
			v = in[i].Value
		case bson.A:
			i, _ := strconv.Atoi(key)
			v = in[i]
		}
	}
	name, _ := v.(string)
	return strings.HasPrefix(name, "args.")
}

// BadNames returns names of collections that some or all commands refuse. Type describes what is
// wrong with the name.
func BadNames() []Value {
	return []Value{
		{"nothing-wrong", "fine"},
		{"empty", ""},
		{"nul", "a\x00b"},
		{"nul-first", "\x00"},
		{"dot-first", ".a"},
		{"dot-last", "a."},
		{"dots", "a..b"},
		{"dollar", "a$b"},
		{"dollar-first", "$a"},
		{"cmd", "$cmd"},
		{"oplog-name", "oplog.$main"},
		{"system", "system.a"},
		{"system-alone", "system."},
		{"system-inside", "a.system.b"},
		{"system.views", "system.views"},
		{"system.js", "system.js"},
		{"system.profile", "system.profile"},
		{"system.users", "system.users"},
		{"longest", strings.Repeat("x", limits.NamespaceBytes-len("args."))},
		{"too-long", strings.Repeat("x", limits.NamespaceBytes-len("args.")+1)},
	}
}

// BadNamespaces returns namespaces that some or all commands refuse. Type describes what is wrong
// with the namespace.
func BadNamespaces() []Value {
	var out []Value
	for _, v := range BadNames() {
		out = append(out, Value{v.Type, "args." + v.Value.(string)})
	}
	return append(out,
		Value{"no-dot", "args"},
		Value{"nothing", ""},
		Value{"no-database", ".c"},
		Value{"database-nul", "ar\x00gs.c"},
		Value{"database-dollar", "ar$gs.c"},
		Value{"database-space", "ar gs.c"},
		Value{"database-slash", "ar/gs.c"},
		Value{"database-too-long", strings.Repeat("x", 64) + ".c"},
	)
}
