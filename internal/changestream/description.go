package changestream

import (
	"strconv"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// description builds the field updateDescription of an update event.
type description struct {
	updated, removed, truncated, ambiguous *bsonx.Builder
}

// part is one component of a path: the name of a field, or an index in an array.
type part struct {
	name  string
	index int
	field bool
}

// describe converts the diff of an update in the oplog to the updateDescription of its event. If
// expanded is true, it adds disambiguatedPaths.
func describe(diff bsonx.Doc, expanded bool) bsonx.Doc {
	d := &description{
		updated: bsonx.NewBuilder(nil), removed: bsonx.NewBuilder(nil), truncated: bsonx.NewBuilder(nil),
		ambiguous: bsonx.NewBuilder(nil),
	}
	d.updated.StartDoc()
	d.removed.StartArray()
	d.truncated.StartArray()
	d.ambiguous.StartDoc()
	d.document(diff, nil)
	for _, b := range []*bsonx.Builder{d.updated, d.removed, d.truncated, d.ambiguous} {
		b.End()
	}
	out := bsonx.NewBuilder(nil)
	out.StartDoc()
	out.Doc("updatedFields", d.updated.Bytes())
	out.Array("removedFields", d.removed.Bytes())
	out.Array("truncatedArrays", d.truncated.Bytes())
	if expanded {
		out.Doc("disambiguatedPaths", d.ambiguous.Bytes())
	}
	out.End()
	return out.Bytes()
}

func (d *description) document(diff bsonx.Doc, path []part) {
	if diff.Lookup("a").Truthy() && diff.Lookup("a").Type == bsonx.TypeBool {
		d.array(diff, path)
		return
	}
	for it := diff.Iter(); it.Next(); {
		key, v := string(it.Key()), it.Value()
		switch key {
		case "u", "i":
			for f := v.Doc().Iter(); f.Next(); {
				d.update(append(path, part{name: string(f.Key()), field: true}), f.Value())
			}
		case "d":
			for f := v.Doc().Iter(); f.Next(); {
				d.removed.Elem(bsonx.String(d.path(append(path, part{name: string(f.Key()), field: true}))))
			}
		default:
			d.document(v.Doc(), append(path, part{name: key[1:], field: true}))
		}
	}
}

func (d *description) array(diff bsonx.Doc, path []part) {
	for it := diff.Iter(); it.Next(); {
		key, v := string(it.Key()), it.Value()
		index, isElement := 0, false
		if len(key) > 1 {
			index, isElement = bsonx.ArrayIndex(key[1:])
		}
		switch {
		case key == "l":
			d.truncated.StartDocElem()
			d.truncated.String("field", d.path(path))
			d.truncated.Value("newSize", v)
			d.truncated.End()
		case isElement && key[0] == 'u':
			d.update(append(path, part{index: index}), v)
		case isElement:
			d.document(v.Doc(), append(path, part{index: index}))
		}
	}
}

func (d *description) update(path []part, v bsonx.Value) { d.updated.Value(d.path(path), v) }

// path joins the components of a path with dots. If the result is ambiguous, because a field name
// contains a dot or is a number, it also adds the components to disambiguatedPaths.
func (d *description) path(path []part) string {
	var text strings.Builder
	ambiguous := false
	for i, p := range path {
		if i > 0 {
			text.WriteByte('.')
		}
		if !p.field {
			text.WriteString(strconv.Itoa(p.index))
			continue
		}
		_, numeric := bsonx.ArrayIndex(p.name)
		ambiguous = ambiguous || strings.Contains(p.name, ".") || numeric && i > 0
		text.WriteString(p.name)
	}
	if ambiguous {
		d.ambiguous.StartArrayField(text.String())
		for _, p := range path {
			if p.field {
				d.ambiguous.Elem(bsonx.String(p.name))
			} else {
				d.ambiguous.Elem(bsonx.Int32(int32(p.index)))
			}
		}
		d.ambiguous.End()
	}
	return text.String()
}
