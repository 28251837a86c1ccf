package plan

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// distinctPath is the key of a distinct command. Its rules differ from the rules of a predicate. If
// an array occurs in the middle of the path, a numeric component is always a position in the array,
// and never also a field of the array's documents.
type distinctPath struct {
	parts   []string
	indexes []int // array index of each numeric part; -1 for other parts
}

func newDistinctPath(path string) distinctPath {
	p := distinctPath{parts: strings.Split(path, ".")}
	for _, part := range p.parts {
		i, ok := bsonx.ArrayIndex(part)
		if !ok {
			i = -1
		}
		p.indexes = append(p.indexes, i)
	}
	return p
}

// walk calls add for each value at the path. If the value is an array, it calls add for each
// element.
func (p *distinctPath) walk(doc bsonx.Doc, add func(bsonx.Value) error) error {
	return p.from(bsonx.Document(doc), 0, add)
}

func (p *distinctPath) from(v bsonx.Value, at int, add func(bsonx.Value) error) error {
	switch {
	case at == len(p.parts) && v.Type != bsonx.TypeArray:
		return add(v)
	case v.Type == bsonx.TypeDocument:
		return p.from(v.Doc().Lookup(p.parts[at]), at+1, add)
	case v.Type != bsonx.TypeArray:
		return nil
	case at < len(p.parts) && p.indexes[at] >= 0:
		return p.from(v.Doc().Index(p.indexes[at]), at+1, add)
	}
	for it := v.Doc().Iter(); it.Next(); {
		var err error
		switch elem := it.Value(); {
		case at == len(p.parts):
			err = add(elem)
		case elem.Type == bsonx.TypeDocument:
			err = p.from(elem, at, add)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
