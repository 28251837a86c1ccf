package index

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// codeHashedArray is the error code for an array on a path of a hashed index.
const codeHashedArray = mongoerr.Code(16766)

// hashedGen generates the single key of a document in an index with a hashed field. It fails if the
// path of any field meets an array.
type hashedGen struct {
	fields    []hashedField
	sparse    bool
	collation *collation.Collator
}

type hashedField struct {
	keyField
	hashed bool
}

func compileHashed(s Spec) (Pattern, Generator, error) {
	p := fieldsOf(s.Key)
	g := &hashedGen{sparse: s.Sparse, collation: s.Collation}
	for _, f := range p {
		g.fields = append(g.fields, hashedField{newKeyField(f), f.Kind == Hashed})
	}
	return p, g, nil
}

// Generate implements Generator.
func (g *hashedGen) Generate(doc bsonx.Doc, out *Keys) error {
	start, missing := out.begin(), 0
	for i := range g.fields {
		f := &g.fields[i]
		v, pos := f.walk(doc.Lookup(f.parts[0]), 1)
		if v.Type == bsonx.TypeArray {
			return mongoerr.New(codeHashedArray, "Error: hashed indexes do not currently support array values. Found array at path: %s",
				strings.Join(f.parts[:pos], "."))
		}
		if v.IsMissing() {
			missing++
			v = bsonx.Null
		}
		v = out.fold(g.collation, v)
		if f.hashed {
			n, err := hashOf(v, true, out.running)
			if err != nil {
				return err
			}
			v = bsonx.Int64(n)
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
