package oplog

import (
	"fmt"
	"strconv"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// Apply applies a diff to doc and appends the resulting document. It fails if the diff is
// malformed.
func Apply(dst []byte, doc, diff bsonx.Doc) ([]byte, error) {
	b := bsonx.NewBuilder(dst)
	b.StartDoc()
	if err := applyDocument(b, doc, diff); err != nil {
		return nil, err
	}
	b.End()
	return b.Bytes(), nil
}

// parts has the sections of the diff of a document: deleted, updated and inserted fields, and the
// diffs of embedded documents and arrays.
type parts struct {
	deletes, updates, inserts bsonx.Doc
	subs                      map[string]bsonx.Doc
}

func partsOf(diff bsonx.Doc) (parts, error) {
	p := parts{deletes: bsonx.Empty, updates: bsonx.Empty, inserts: bsonx.Empty}
	for it := diff.Iter(); it.Next(); {
		key, v := string(it.Key()), it.Value()
		if v.Type != bsonx.TypeDocument || key == "" {
			return p, fmt.Errorf("oplog: diff with field %q of type %v", key, v.Type)
		}
		switch {
		case key == "d":
			p.deletes = v.Doc()
		case key == "u":
			p.updates = v.Doc()
		case key == "i":
			p.inserts = v.Doc()
		case key[0] == 's':
			if p.subs == nil {
				p.subs = make(map[string]bsonx.Doc)
			}
			p.subs[key[1:]] = v.Doc()
		default:
			return p, fmt.Errorf("oplog: diff with field %q", key)
		}
	}
	return p, nil
}

func applyDocument(b *bsonx.Builder, doc, diff bsonx.Doc) error {
	p, err := partsOf(diff)
	if err != nil {
		return err
	}
	for it := doc.Iter(); it.Next(); {
		key := string(it.Key())
		if !p.deletes.Lookup(key).IsMissing() || !p.inserts.Lookup(key).IsMissing() {
			continue
		}
		if v := p.updates.Lookup(key); !v.IsMissing() {
			b.ValueBytes(it.Key(), v)
			continue
		}
		nested, ok := p.subs[key]
		if !ok {
			b.ValueBytes(it.Key(), it.Value())
			continue
		}
		if err := applyField(b, key, it.Value(), nested); err != nil {
			return err
		}
	}
	b.Fields(p.inserts)
	return nil
}

// applyField adds a field whose document or array has a diff.
func applyField(b *bsonx.Builder, key string, v bsonx.Value, diff bsonx.Doc) error {
	isArray := diff.Lookup("a").Truthy()
	switch {
	case isArray && v.Type == bsonx.TypeArray:
		b.StartArrayField(key)
		if err := applyArray(b, v.Doc(), diff); err != nil {
			return err
		}
	case !isArray && v.Type == bsonx.TypeDocument:
		b.StartDocField(key)
		if err := applyDocument(b, v.Doc(), diff); err != nil {
			return err
		}
	default:
		return fmt.Errorf("oplog: the diff of field %q does not fit a value of type %v", key, v.Type)
	}
	b.End()
	return nil
}

// applyArray adds the elements of an array that has a diff. It fills gaps with null, as MongoDB
// does.
func applyArray(b *bsonx.Builder, array, diff bsonx.Doc) error {
	values := array.Values()
	if l, ok := diff.Lookup("l").AsExactInt64(); ok && l >= 0 && l < int64(len(values)) {
		values = values[:l]
	}
	n := len(values)
	for it := diff.Iter(); it.Next(); {
		if i, ok := elementOf(it.Key()); ok {
			n = max(n, i+1)
		}
	}
	if n > len(values)+len(diff) {
		return fmt.Errorf("oplog: the diff of an array of %d elements makes %d of them", len(values), n)
	}
	for i := range n {
		key := strconv.Itoa(i)
		if v := diff.Lookup("u" + key); !v.IsMissing() {
			b.Value(key, v)
			continue
		}
		nested := diff.Lookup("s" + key)
		switch {
		case i >= len(values):
			b.Null(key)
		case nested.Type == bsonx.TypeDocument:
			if err := applyField(b, key, values[i], nested.Doc()); err != nil {
				return err
			}
		default:
			b.Value(key, values[i])
		}
	}
	return nil
}

// elementOf returns the index in a key of an array's diff.
func elementOf(key []byte) (int, bool) {
	if len(key) < 2 || key[0] != 'u' && key[0] != 's' {
		return 0, false
	}
	return bsonx.ArrayIndex(string(key[1:]))
}
