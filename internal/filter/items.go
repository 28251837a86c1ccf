package filter

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/keystring"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func parseSchemaItemCount(sp *schemaParser, kw keyword) error {
	limit, err := kw.nonNegative()
	if err != nil {
		return err
	}
	maximum := kw.name == "maxItems"
	sp.addAbout(bsonx.TypeArray, &valueRule{
		keyword: kw.name, spec: kw.spec(), reason: "array did not match specified length", keepsValue: true,
		test: func(v bsonx.Value, st *state) bool {
			return v.Type != bsonx.TypeArray || within(v.Doc().Len(), limit, maximum)
		},
		detail: func(b *details, v bsonx.Value) { b.Int32("numberOfItems", int32(v.Doc().Len())) },
	})
	return nil
}

func parseSchemaUniqueItems(sp *schemaParser, kw keyword) error {
	if kw.value.Type != bsonx.TypeBool {
		return kw.mismatch("a boolean")
	}
	if !kw.value.Bool() {
		return nil
	}
	sp.addAbout(bsonx.TypeArray, &valueRule{
		keyword: kw.name, spec: kw.spec(), reason: "found a duplicate item", keepsValue: true,
		test: func(v bsonx.Value, st *state) bool {
			return v.Type != bsonx.TypeArray || duplicate(v.Doc(), st).IsMissing()
		},
		detail: func(b *details, v bsonx.Value) { b.Value("duplicatedValue", duplicate(v.Doc(), nil)) },
	})
	return nil
}

// duplicate returns the first element of array that equals an earlier element, or bsonx.Missing. It
// compares documents and arrays with others of the same length, and ignores the order of fields. It
// finds other values by their keystring.
func duplicate(array bsonx.Doc, st *state) bsonx.Value {
	byClass, scalars := map[int][]bsonx.Value{}, map[string]struct{}{}
	var key []byte
	for it := array.Iter(); it.Next(); {
		v := it.Value()
		if st.stopped(2*interrupt.Step + len(v.Data)) {
			return bsonx.Missing
		}
		if v.Type != bsonx.TypeDocument && v.Type != bsonx.TypeArray {
			key = keystring.Append(key[:0], v, false)
			if _, ok := scalars[string(key)]; ok {
				return v
			}
			scalars[string(key)] = struct{}{}
			continue
		}
		class := v.Type.Class()<<16 ^ v.Doc().Len()
		if containsUnordered(byClass[class], v, st) {
			return v
		}
		byClass[class] = append(byClass[class], v)
	}
	return bsonx.Missing
}

// itemsRule is the keyword items with one schema for all elements, or additionalItems with a schema
// for the elements from a position on.
type itemsRule struct {
	keyword, reason string
	schema          *schema
	from            int
}

func (r *itemsRule) match(v bsonx.Value, st *state) bool {
	i, _ := r.failing(v, st)
	return i < 0
}

// failing returns the first element that does not match, with its index, or -1 if all match.
func (r *itemsRule) failing(v bsonx.Value, st *state) (int, bsonx.Value) {
	if v.Type != bsonx.TypeArray {
		return -1, bsonx.Missing
	}
	i := 0
	for it := v.Doc().Iter(); it.Next(); i++ {
		if i >= r.from && !r.schema.match(it.Value(), st) {
			return i, it.Value()
		}
	}
	return -1, bsonx.Missing
}

func (r *itemsRule) explain(b *details, v bsonx.Value) {
	i, elem := r.failing(v, nil)
	b.String("operatorName", r.keyword)
	r.schema.annotate(b)
	b.String("reason", r.reason)
	b.Int32("itemIndex", int32(i))
	r.schema.explain(b, "details", elem)
}

// tupleRule is the keyword items with a list of schemas, one for each position.
type tupleRule struct{ schemas []*schema }

func (r *tupleRule) match(v bsonx.Value, st *state) bool {
	if v.Type != bsonx.TypeArray {
		return true
	}
	i := 0
	for it := v.Doc().Iter(); i < len(r.schemas) && it.Next(); i++ {
		if !r.schemas[i].match(it.Value(), st) {
			return false
		}
	}
	return true
}

func (r *tupleRule) explain(b *details, v bsonx.Value) {
	b.String("operatorName", "items")
	b.StartArrayField("details")
	i := 0
	for it := v.Doc().Iter(); i < len(r.schemas) && it.Next(); i++ {
		if r.schemas[i].match(it.Value(), nil) {
			continue
		}
		b.StartDocElem()
		b.Int32("itemIndex", int32(i))
		r.schemas[i].explain(b, "details", it.Value())
		b.End()
	}
	b.End()
}

// noMoreItemsRule is additionalItems: false. It rejects elements from a position on.
type noMoreItemsRule struct {
	spec bsonx.Doc
	from int
}

func (r *noMoreItemsRule) match(v bsonx.Value, st *state) bool {
	return v.Type != bsonx.TypeArray || v.Doc().Len() <= r.from
}

func (r *noMoreItemsRule) explain(b *details, v bsonx.Value) {
	b.String("operatorName", "additionalItems")
	b.specifiedAs(r.spec)
	b.String("reason", "found additional items")
	b.StartArrayField("additionalItems")
	i := 0
	for it := v.Doc().Iter(); it.Next(); i++ {
		if i >= r.from {
			b.Elem(it.Value())
		}
	}
	b.End()
}

func parseSchemaItems(sp *schemaParser, kw keyword) error {
	switch kw.value.Type {
	case bsonx.TypeDocument:
		s, err := sp.sub(kw.value, false)
		if err != nil {
			return err
		}
		sp.addAbout(bsonx.TypeArray,
			&itemsRule{keyword: kw.name, reason: "At least one item did not match the sub-schema", schema: s})
		return nil
	case bsonx.TypeArray:
		schemas, err := sp.subs(kw, false)
		if err != nil {
			return err
		}
		sp.addAbout(bsonx.TypeArray, &tupleRule{schemas})
		return nil
	default:
		return kw.mismatch("an array or an object, not " + kw.value.Type.String())
	}
}

// parseSchemaAdditionalItems compiles additionalItems. The keyword has an effect only if items is a
// list of schemas.
func parseSchemaAdditionalItems(sp *schemaParser, kw keyword) error {
	items := sp.doc.Lookup("items")
	tuple := items.Type == bsonx.TypeArray
	switch kw.value.Type {
	case bsonx.TypeBool:
		if tuple && !kw.value.Bool() {
			sp.addAbout(bsonx.TypeArray, &noMoreItemsRule{spec: kw.spec(), from: items.Doc().Len()})
		}
		return nil
	case bsonx.TypeDocument:
		s, err := sp.sub(kw.value, false)
		if err != nil || !tuple {
			return err
		}
		sp.addAbout(bsonx.TypeArray, &itemsRule{
			keyword: kw.name, reason: "At least one additional item did not match the sub-schema",
			schema: s, from: items.Doc().Len(),
		})
		return nil
	default:
		return mongoerr.New(mongoerr.TypeMismatch,
			"$jsonSchema keyword 'additionalItems' must be either an object or a boolean, but got a %s", kw.value.Type)
	}
}
