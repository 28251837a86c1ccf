package paging

import (
	"math"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// filter returns the condition that selects the documents after a cursor, or before it.
func (p *Pager[T]) filter(from *Cursor, backward bool) (bson.D, error) {
	filter := append(bson.D{}, p.cfg.Equal...)
	if len(p.cfg.Filter) > 0 {
		filter = append(filter, bson.E{"$and", bson.A{p.cfg.Filter}})
	}
	if from == nil {
		return filter, nil
	}
	if len(from.values) != len(p.keys) {
		return nil, ErrCursor
	}
	// A document is after (a, b) if its first field is greater than a, or if its first field is a
	// and its second field is greater than b. Each of these two conditions is a range of the index.
	var ranges bson.A
	var same bson.D
	for i, k := range p.keys {
		for _, beyond := range beyond(k.path, from.values[i], k.desc != backward) {
			ranges = append(ranges, append(append(bson.D{}, same...), beyond))
		}
		same = append(same, bson.E{k.path, from.values[i]})
	}
	// No value is greater than the values of the cursor.
	if len(ranges) == 0 {
		ranges = bson.A{bson.D{{"$nor", bson.A{bson.D{}}}}}
	}
	return append(filter, bson.E{"$or", ranges}), nil
}

// classes has the types of values in the order in which MongoDB compares them, with the names that
// $type uses. https://www.mongodb.com/docs/manual/reference/bson-type-comparison-order/
var classes = [][]string{
	{"minKey"},
	{"null"},
	{"number"},
	{"string", "symbol"},
	{"object"},
	{"binData"},
	{"objectId"},
	{"bool"},
	{"date"},
	{"timestamp"},
	{"regex", "dbPointer", "javascript", "javascriptWithScope"},
	{"maxKey"},
}

const (
	nullClass   = 1
	numberClass = 2
)

// classOf returns the index of the class of a value in classes. It returns false for types that $gt
// does not compare, such as arrays and regular expressions: a cursor cannot hold them.
func classOf(v bson.RawValue) (int, bool) {
	switch v.Type {
	case bson.TypeMinKey:
		return 0, true
	case bson.TypeNull:
		return nullClass, true
	case bson.TypeInt32, bson.TypeInt64, bson.TypeDouble, bson.TypeDecimal128:
		return numberClass, true
	case bson.TypeString, bson.TypeSymbol:
		return 3, true
	case bson.TypeEmbeddedDocument:
		return 4, true
	case bson.TypeBinary:
		return 5, true
	case bson.TypeObjectID:
		return 6, true
	case bson.TypeBoolean:
		return 7, true
	case bson.TypeDateTime:
		return 8, true
	case bson.TypeTimestamp:
		return 9, true
	case bson.TypeMaxKey:
		return 11, true
	default:
		return 0, false
	}
}

// beyond returns the conditions that select the values greater than v, or less than v. $gt and $lt
// compare only values of the same class. Therefore one condition selects values of the class of v,
// and others select the classes after or before that class.
func beyond(path string, v bson.RawValue, less bool) (out []bson.E) {
	class, _ := classOf(v)
	for _, own := range beyondInClass(class, v, less) {
		out = append(out, bson.E{path, own})
	}
	others := classes[class+1:]
	if less {
		others = classes[:class]
	}
	var names bson.A
	for _, other := range others {
		if other[0] == classes[nullClass][0] {
			// This condition also selects documents without the field.
			out = append(out, bson.E{path, nil})
			continue
		}
		for _, name := range other {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		out = append(out, bson.E{path, bson.D{{"$type", names}}})
	}
	return out
}

// beyondInClass returns the conditions that select the values of the class of v that are greater
// than v, or less than v.
func beyondInClass(class int, v bson.RawValue, less bool) []any {
	number := class == numberClass
	switch {
	// All values of these classes are equal.
	case class == 0 || class == nullClass || class == len(classes)-1:
		return nil
	// NaN is the least number in the sort order. $gt and $lt do not compare NaN with other numbers.
	case number && isNaN(v) && less:
		return nil
	case number && isNaN(v):
		return []any{bson.D{{"$gte", math.Inf(-1)}}}
	case number && less:
		return []any{bson.D{{"$lt", v}}, math.NaN()}
	case less:
		return []any{bson.D{{"$lt", v}}}
	default:
		return []any{bson.D{{"$gt", v}}}
	}
}

func isNaN(v bson.RawValue) bool {
	if f, ok := v.DoubleOK(); ok {
		return math.IsNaN(f)
	}
	d, ok := v.Decimal128OK()
	return ok && d.IsNaN()
}
