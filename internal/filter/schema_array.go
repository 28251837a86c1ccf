package filter

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func parseSchemaItemCount(sp *schemaParser, kw keyword) error {
	limit, err := kw.nonNegative()
	if err != nil {
		return err
	}
	maximum := kw.name == "maxItems"
	sp.addAbout(bsonx.TypeArray, &valueRule{
		keyword: kw.name, spec: kw.spec(), reason: "array did not match specified length",
		test: func(v bsonx.Value) bool {
			return v.Type != bsonx.TypeArray || within(v.Doc().Len(), limit, maximum)
		},
		detail: func(b *bsonx.Builder, v bsonx.Value) { b.Int32("numberOfItems", int32(v.Doc().Len())) },
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
		keyword: kw.name, spec: kw.spec(), reason: "found a duplicate item",
		test: func(v bsonx.Value) bool {
			return v.Type != bsonx.TypeArray || duplicate(v.Doc()).IsMissing()
		},
		detail: func(b *bsonx.Builder, v bsonx.Value) { b.Value("duplicatedValue", duplicate(v.Doc())) },
	})
	return nil
}

// duplicate returns the first element that equals an earlier one. Only elements of the same hash class are compared
// field by field; arrays are short enough for that.
func duplicate(array bsonx.Doc) bsonx.Value {
	byClass := map[int][]bsonx.Value{}
	for it := array.Iter(); it.Next(); {
		v := it.Value()
		class := v.Type.Class()<<16 ^ len(v.Data)
		if v.Type.IsNumber() {
			class = bsonx.ClassNumber << 16
		}
		if v.Type == bsonx.TypeDocument || v.Type == bsonx.TypeArray { // numbers within them differ in length
			class = v.Type.Class()<<16 ^ v.Doc().Len()
		}
		if containsUnordered(byClass[class], v) {
			return v
		}
		byClass[class] = append(byClass[class], v)
	}
	return bsonx.Missing
}

// itemsRule is items with one schema for all elements, or additionalItems with one for those from a position on.
type itemsRule struct {
	keyword, reason string
	schema          *schema
	from            int
}

func (r *itemsRule) match(v bsonx.Value) bool {
	i, _ := r.failing(v)
	return i < 0
}

// failing returns the first element that does not match.
func (r *itemsRule) failing(v bsonx.Value) (int, bsonx.Value) {
	if v.Type != bsonx.TypeArray {
		return -1, bsonx.Missing
	}
	i := 0
	for it := v.Doc().Iter(); it.Next(); i++ {
		if i >= r.from && !r.schema.match(it.Value()) {
			return i, it.Value()
		}
	}
	return -1, bsonx.Missing
}

func (r *itemsRule) explain(b *bsonx.Builder, v bsonx.Value) {
	i, elem := r.failing(v)
	b.String("operatorName", r.keyword)
	r.schema.annotate(b)
	b.String("reason", r.reason)
	b.Int32("itemIndex", int32(i))
	r.schema.explain(b, "details", elem)
}

// tupleRule is items with a schema for each position.
type tupleRule struct{ schemas []*schema }

func (r *tupleRule) match(v bsonx.Value) bool {
	if v.Type != bsonx.TypeArray {
		return true
	}
	i := 0
	for it := v.Doc().Iter(); i < len(r.schemas) && it.Next(); i++ {
		if !r.schemas[i].match(it.Value()) {
			return false
		}
	}
	return true
}

func (r *tupleRule) explain(b *bsonx.Builder, v bsonx.Value) {
	b.String("operatorName", "items")
	b.StartArrayField("details")
	i := 0
	for it := v.Doc().Iter(); i < len(r.schemas) && it.Next(); i++ {
		if r.schemas[i].match(it.Value()) {
			continue
		}
		b.StartDocElem()
		b.Int32("itemIndex", int32(i))
		r.schemas[i].explain(b, "details", it.Value())
		b.End()
	}
	b.End()
}

// noMoreItemsRule is additionalItems: false.
type noMoreItemsRule struct {
	spec bsonx.Doc
	from int
}

func (r *noMoreItemsRule) match(v bsonx.Value) bool {
	return v.Type != bsonx.TypeArray || v.Doc().Len() <= r.from
}

func (r *noMoreItemsRule) explain(b *bsonx.Builder, v bsonx.Value) {
	b.String("operatorName", "additionalItems")
	b.Doc("specifiedAs", r.spec)
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
		sp.addAbout(bsonx.TypeArray, &itemsRule{keyword: kw.name, reason: "At least one item did not match the sub-schema", schema: s})
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

// parseSchemaAdditionalItems has an effect only beside items that are given by position.
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
