package argtest

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/commands"
	"github.com/sheafdb/sheaf/internal/feature"
)

//go:embed bases.jsonl
var baseLines string

// Base is a command that succeeds as it is.
type Base struct {
	Name    string   `bson:"name"`
	DB      string   `bson:"db"`
	Command bson.D   `bson:"command"`
	More    []string `bson:"more"`
	// Generic bases are also tested with the arguments that all commands share.
	Generic bool `bson:"generic"`
	// Only lists prefixes: only argument paths with one of them are tested. If it is empty, all
	// paths are tested.
	Only []string `bson:"only"`
	// Skip is the reason why a command is not tested. If it is set, the other fields are empty.
	Skip string `bson:"skip"`
}

// Argument is a place in the command of a base that takes a value.
type Argument struct {
	Base *Base
	// Path is the dotted path of the argument, such as "updates.0.multi". The empty path is the
	// command's own field.
	Path string
}

// String returns the name of the base and the path, or "find (value)" for the command's own field.
func (a Argument) String() string {
	if a.Path == "" {
		return a.Base.Name + " (value)"
	}
	return a.Base.Name + " " + a.Path
}

// Arguments returns the arguments of all commands, in the order of the bases.
func Arguments() ([]Argument, error) {
	bases, err := Bases()
	if err != nil {
		return nil, err
	}
	defs := commands.Definitions()
	var out []Argument
	for i := range bases {
		b := &bases[i]
		if b.Skip != "" {
			continue
		}
		out = append(out, Argument{b, ""})
		for _, path := range paths(b, find(defs, b.Name)) {
			out = append(out, Argument{b, path})
		}
	}
	return out, nil
}

// Bases parses bases.jsonl. It returns an error for a command without a base, and for a base
// without a command.
func Bases() ([]Base, error) {
	defs := commands.Definitions()
	var bases []Base
	has := map[string]bool{}
	for line := range strings.Lines(baseLines) {
		var b Base
		if err := bson.UnmarshalExtJSON([]byte(line), false, &b); err != nil {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
		d := find(defs, b.Name)
		if d == nil {
			return nil, fmt.Errorf("no command has the name %s", b.Name)
		}
		has[d.Name] = true
		if b.DB == "" {
			b.DB = "args"
		}
		bases = append(bases, b)
	}
	for i := range defs {
		if d := &defs[i]; d.Status == feature.Supported && !has[d.Name] {
			return nil, fmt.Errorf("the command %s has no line in bases.jsonl", d.Name)
		}
	}
	return bases, nil
}

// find returns the definition of a base's command. The base is named like the command, optionally
// followed by a slash and a suffix.
func find(defs []command.Definition, base string) *command.Definition {
	name, _, _ := strings.Cut(base, "/")
	for i := range defs {
		if defs[i].Name == name {
			return &defs[i]
		}
	}
	return nil
}

func paths(b *Base, d *command.Definition) []string {
	out := nested("", d.Fields)
	if b.Generic {
		out = append(out, nested("", command.GenericFields())...)
	}
	for _, path := range b.More {
		if !slices.Contains(out, path) {
			out = append(out, path)
		}
	}
	out = append(out, "unknownArgument")
	if len(b.Only) > 0 {
		out = slices.DeleteFunc(out, func(path string) bool {
			return !slices.ContainsFunc(b.Only, func(prefix string) bool { return strings.HasPrefix(path, prefix) })
		})
	}
	return out
}

func nested(prefix string, fields []command.Field) []string {
	var out []string
	for i := range fields {
		f := &fields[i]
		path := prefix + f.Name
		if !slices.Contains(out, path) {
			out = append(out, path)
		}
		within := path + "."
		if f.Type.Is(command.Array) {
			within += "0."
		}
		for _, p := range nested(within, f.Fields) {
			if !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	return out
}

// With returns the base's command with the argument set to v.
func (a Argument) With(v any) bson.D {
	if a.Path == "" {
		cmd := slices.Clone(a.Base.Command)
		cmd[0].Value = v
		return cmd
	}
	cmd, _ := put(a.Base.Command, strings.Split(a.Path, "."), v).(bson.D)
	return cmd
}

// put returns a copy of a document or array with v at path. It adds missing documents on the path.
func put(in any, path []string, v any) any {
	if len(path) == 0 {
		return v
	}
	i, err := strconv.Atoi(path[0])
	if array, ok := in.(bson.A); err == nil && (ok || in == nil) {
		array = slices.Clone(array)
		for len(array) <= i {
			array = append(array, nil)
		}
		array[i] = put(array[i], path[1:], v)
		return array
	}
	doc, _ := in.(bson.D)
	doc = slices.Clone(doc)
	for j := range doc {
		if doc[j].Key == path[0] {
			doc[j].Value = put(doc[j].Value, path[1:], v)
			return doc
		}
	}
	return append(doc, bson.E{path[0], put(nil, path[1:], v)})
}

// Value is a BSON value with a name for its type.
type Value struct {
	// Type is the name of the type in MongoDB's messages.
	Type  string
	Value any
}

// Values returns one value of each BSON type.
func Values() []Value {
	one, _ := bson.ParseDecimal128("1")
	return []Value{
		{"double", 1.0},
		{"string", "x"},
		{"object", bson.D{}},
		{"array", bson.A{}},
		{"binData", bson.Binary{Subtype: 0, Data: []byte{1}}},
		{"undefined", bson.Undefined{}},
		{"objectId", bson.ObjectID{1}},
		{"bool", true},
		{"date", bson.NewDateTimeFromTime(time.UnixMilli(1))},
		{"null", nil},
		{"regex", bson.Regex{Pattern: "x"}},
		{"dbPointer", bson.DBPointer{DB: "x", Pointer: bson.ObjectID{1}}},
		{"javascript", bson.JavaScript("x")},
		{"symbol", bson.Symbol("x")},
		{"javascriptWithScope", bson.CodeWithScope{Code: "x", Scope: bson.D{}}},
		{"int", int32(1)},
		{"timestamp", bson.Timestamp{T: 1, I: 1}},
		{"long", int64(1)},
		{"decimal", one},
		{"minKey", bson.MinKey{}},
		{"maxKey", bson.MaxKey{}},
	}
}
