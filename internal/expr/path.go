package expr

import (
	"cmp"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

const (
	rootSlot = -1
	nowSlot  = -2
)

// Path reads a field path of the document or of a variable. It maps over arrays on the path: each
// element that is a document contributes the value at the rest of the path, other elements
// contribute nothing.
type Path struct {
	slot   int // rootSlot, nowSlot or the slot of the variable
	parts  []string
	dotted string
	// fields is set by BindFields. It lists the top-level fields that several expressions read.
	fields *Fields
	// field is the position of the first component of the path in fields.
	field int

	running *interrupt.Running // signals interrupts of the operation; nil never does
}

// NewPath returns an expression that reads a path of the document.
func NewPath(parts []string) *Path {
	return &Path{slot: rootSlot, parts: parts, dotted: strings.Join(parts, ".")}
}

// FieldPath returns the dotted path if e reads a field of the document without variables ("$a.b").
func FieldPath(e Expr) (string, bool) {
	p, ok := e.(*Path)
	if !ok || p.slot != rootSlot || len(p.parts) == 0 {
		return "", false
	}
	return p.dotted, true
}

// IsRoot reports whether e is the document itself.
func IsRoot(e Expr) bool {
	p, ok := e.(*Path)
	return ok && p.slot == rootSlot && len(p.parts) == 0
}

// Eval reads the path. It counts as work the documents that it searches for the fields of the path,
// and also the size of the value, because the caller will most likely read it.
func (p *Path) Eval(ctx *Context) (bsonx.Value, error) {
	parts := p.parts
	var v bsonx.Value
	switch {
	case p.fields != nil && p.fields == ctx.loaded:
		v, parts = ctx.reader.Value(p.field), parts[1:]
	case p.slot == rootSlot:
		v = ctx.Root
	case p.slot == nowSlot:
		v = ctx.Arena.Date(ctx.Now.UnixMilli())
	default:
		v = ctx.slot(p.slot)
	}
	if len(parts) > 0 {
		var err error
		if v, err = ctx.walk(v, parts, p.running); err != nil {
			return bsonx.Missing, err
		}
	}
	return v, ctx.Read(len(v.Data), p.running)
}

// Children returns nil.
func (p *Path) Children() []Expr { return nil }

// Total returns true: the node has a value for all values of its operands.
func (p *Path) Total() bool { return true }

// walk returns the value at a path, and counts the sizes of the documents and arrays on the path as
// work. It counts whole documents, although it stops at the field: finding out the exact number
// would cost more than an additional check for an interrupt.
func (c *Context) walk(v bsonx.Value, parts []string, running *interrupt.Running) (bsonx.Value, error) {
	for i, part := range parts {
		switch v.Type {
		case bsonx.TypeDocument:
			if err := c.Read(len(v.Data), running); err != nil {
				return bsonx.Missing, err
			}
			v = v.Doc().Lookup(part)
		case bsonx.TypeArray:
			return c.walkElements(v, parts[i:], running)
		default:
			return bsonx.Missing, nil
		}
	}
	return v, nil
}

// walkElements returns an array of the values at the path in the documents of an array.
func (c *Context) walkElements(array bsonx.Value, parts []string, running *interrupt.Running) (bsonx.Value, error) {
	b := bsonx.NewBuilder(nil)
	b.StartArray()
	for it := array.Doc().Iter(); it.Next(); {
		if it.Value().Type != bsonx.TypeDocument {
			continue
		}
		v, err := c.walk(it.Value(), parts, running)
		if err != nil {
			return bsonx.Missing, err
		}
		if !v.IsMissing() {
			b.Elem(v)
		}
	}
	b.End()
	return bsonx.Array(b.Bytes()), c.Read(len(array.Data), running)
}

// walkPath returns the value at a path of a constant.
func walkPath(v bsonx.Value, parts []string) bsonx.Value {
	v, _ = new(Context).walk(v, parts, nil) // cannot fail: there is no operation to interrupt
	return v
}

// parsePath compiles "$a.b", "$$var" or "$$var.a".
func (p *Parser) parsePath(text string, vars *Vars) (Expr, error) {
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
		if rest == "" {
			_, err := vars.Reference(name, nil, "")
			return nil, cmp.Or(err, errTrailingDot)
		}
		var err error
		if parts, err = SplitFieldPath(rest); err != nil {
			return nil, err
		}
	}
	return vars.Reference(name, parts, rest)
}

func (p *Parser) currentPath(path string, vars *Vars) (Expr, error) {
	parts, err := SplitFieldPath(path)
	if err != nil {
		return nil, err
	}
	return vars.Reference("CURRENT", parts, path)
}

var errTrailingDot error = mongoerr.New(40353, "FieldPath must not end with a '.'.")

// CheckFieldPath returns the error of SplitFieldPath.
func CheckFieldPath(path string) error {
	_, err := SplitFieldPath(path)
	return err
}

// SplitFieldPath splits a dotted path and checks it like MongoDB's FieldPath: no component may be
// empty or start with a dollar sign, and the number of components is limited.
func SplitFieldPath(path string) ([]string, error) {
	if path == "" {
		return nil, mongoerr.New(40352, "FieldPath cannot be constructed with empty string")
	}
	if path[len(path)-1] == '.' {
		return nil, errTrailingDot
	}
	parts := strings.Split(path, ".")
	if len(parts) > limits.PathDepth {
		return nil, mongoerr.New(mongoerr.Overflow, "FieldPath is too long")
	}
	for _, part := range parts {
		if err := checkFieldName(part); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// badName is the beginning of MongoDB's message about an invalid field name.
const badName = "Consider using $getField or $setField for a field path with '.' or '$'. :: caused by :: "

// isDollarName reports whether the field name may begin with a dollar sign. That holds for the
// fields of a DBRef and for metadata fields that MongoDB servers exchange.
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
