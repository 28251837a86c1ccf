package index

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// codeImageOfArray is the error code for an array on a path of an index of images.
const codeImageOfArray = mongoerr.Code(16766)

// imageGen generates the single key of a document in an index that has fields with images (see
// Definition.Image). It fails if the path of any field meets an array.
type imageGen struct {
	name      string // of the index type
	fields    []imageField
	sparse    bool
	collation *collation.Collator
}

type imageField struct {
	keyField
	image func(v bsonx.Value, r *interrupt.Running) (bsonx.Value, error) // nil: the value itself
}

func compileImages(s Spec) (Pattern, Generator, error) {
	p := fieldsOf(s.Key)
	g := &imageGen{name: KindOf(s.Key).Definition().Name, sparse: s.Sparse, collation: s.Collation}
	for _, f := range p {
		g.fields = append(g.fields, imageField{newKeyField(f), f.Kind.Definition().Image})
	}
	return p, g, nil
}

// Generate implements Generator.
func (g *imageGen) Generate(doc bsonx.Doc, out *Keys) error {
	start, missing := out.begin(), 0
	for i := range g.fields {
		f := &g.fields[i]
		v, pos := f.walk(doc.Lookup(f.parts[0]), 1)
		if v.Type == bsonx.TypeArray {
			return mongoerr.New(codeImageOfArray, "Error: %s indexes do not currently support array values. Found array at path: %s",
				g.name, strings.Join(f.parts[:pos], "."))
		}
		if v.IsMissing() {
			missing++
			v = bsonx.Null
		}
		v = out.fold(g.collation, v)
		if f.image != nil {
			var err error
			if v, err = f.image(v, out.running); err != nil {
				return err
			}
		}
		out.append(v, f.desc)
	}
	if g.sparse && missing == len(g.fields) {
		out.cancel(start)
		return out.ended
	}
	out.finish(start)
	return out.ended
}
