package expr

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

const (
	rootSlot = -1
	nowSlot  = -2
)

// maxPathDepth is MongoDB's limit of components in a field path.
const maxPathDepth = 200

// Path reads a field path from the document or from a variable. Arrays on the way are mapped over: each
// element that is a document contributes the rest of the path, other elements nothing.
type Path struct {
	slot   int // rootSlot, nowSlot or the slot of a variable
	parts  []string
	dotted string
	// Where several expressions read the document together: the number of the first part among their fields.
	fields *Fields
	field  int
}

// FieldPath returns the dotted path if e reads a field of the document itself ("$a.b"), without variables.
func FieldPath(e Expr) (string, bool) {
	p, ok := e.(*Path)
	if !ok || p.slot != rootSlot || len(p.parts) == 0 {
		return "", false
	}
	return p.dotted, true
}

// Eval reads the path.
func (p *Path) Eval(ctx *Context) (bsonx.Value, error) {
	if p.fields != nil && p.fields == ctx.loaded {
		v := ctx.reader.Value(p.field)
		if len(p.parts) > 1 {
			ctx.work += len(v.Data) // a path walks over all elements of an array
			v = walkPath(v, p.parts[1:])
		}
		return v, nil
	}
	var v bsonx.Value
	switch p.slot {
	case rootSlot:
		v = ctx.Root
	case nowSlot:
		v = ctx.arena.Date(ctx.Now.UnixMilli())
	default:
		v = ctx.slot(p.slot)
	}
	return walkPath(v, p.parts), nil
}

func (p *Path) children() []Expr { return nil }

func walkPath(v bsonx.Value, parts []string) bsonx.Value {
	for i, part := range parts {
		switch v.Type {
		case bsonx.TypeDocument:
			v = v.Doc().Lookup(part)
		case bsonx.TypeArray:
			return mapPath(v, parts[i:])
		default:
			return bsonx.Missing
		}
	}
	return v
}

func mapPath(array bsonx.Value, parts []string) bsonx.Value {
	b := bsonx.NewBuilder(nil)
	b.StartArray()
	for it := array.Doc().Iter(); it.Next(); {
		if it.Value().Type != bsonx.TypeDocument {
			continue
		}
		if v := walkPath(it.Value(), parts); !v.IsMissing() {
			b.Elem(v)
		}
	}
	b.End()
	return bsonx.Array(b.Bytes())
}

// parsePath parses "$a.b", "$$var" and "$$var.a".
func (p *parser) parsePath(text string, vars *Vars) (Expr, error) {
	if text == "$" {
		return nil, mongoerr.New(16872, "'$' by itself is not a valid FieldPath")
	}
	if !strings.HasPrefix(text, "$$") {
		return p.currentPath(text[1:], vars)
	}
	name, rest, dotted := strings.Cut(text[2:], ".")
	if err := checkVariableRead(name); err != nil {
		return nil, err
	}
	var parts []string
	if dotted {
		var err error
		if parts, err = SplitFieldPath(rest); err != nil {
			return nil, err
		}
	}
	return vars.reference(name, parts, rest)
}

func (p *parser) currentPath(path string, vars *Vars) (Expr, error) {
	parts, err := SplitFieldPath(path)
	if err != nil {
		return nil, err
	}
	return vars.reference("CURRENT", parts, path)
}

// CheckFieldPath fails where SplitFieldPath does.
func CheckFieldPath(path string) error {
	_, err := SplitFieldPath(path)
	return err
}

// SplitFieldPath splits a dotted path and checks its components as MongoDB's FieldPath does: no empty one,
// none that starts with a dollar, not too many.
func SplitFieldPath(path string) ([]string, error) {
	if path == "" {
		return nil, mongoerr.New(40352, "FieldPath cannot be constructed with empty string")
	}
	if path[len(path)-1] == '.' {
		return nil, mongoerr.New(40353, "FieldPath must not end with a '.'.")
	}
	parts := strings.Split(path, ".")
	if len(parts) > maxPathDepth {
		return nil, mongoerr.New(mongoerr.Overflow, "FieldPath is too long")
	}
	for _, part := range parts {
		if err := checkFieldName(part); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// badName is what MongoDB says before it says what is wrong with the name of a field.
const badName = "Consider using $getField or $setField for a field path with '.' or '$'. :: caused by :: "

// isDollarName reports whether the name of a field may begin with $: the fields of a DBRef, and those
// in which servers tell each other metadata.
func isDollarName(name string) bool {
	switch name {
	case "$id", "$ref", "$db", "$recordId", "$sortKey", "$searchScore", "$searchSortValues":
		return true
	default:
		return false
	}
}

func checkFieldName(name string) error {
	switch {
	case name == "":
		return mongoerr.New(15998, badName+"FieldPath field names may not be empty strings.")
	case name[0] == '$' && !isDollarName(name):
		return mongoerr.New(16410, badName+"FieldPath field names may not start with '$', given '%s'.", name)
	case strings.IndexByte(name, 0) >= 0:
		return mongoerr.New(16411, badName+"FieldPath field names may not contain '\\0'.")
	case strings.IndexByte(name, '.') >= 0:
		return mongoerr.New(16412, badName+"FieldPath field names may not contain '.', given '%s'.", name)
	}
	return nil
}
