package paging

import (
	"math"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// filter is the condition of the documents behind a place, or before it.
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
	// Behind (a, b) is what is behind a, or has that a and is behind b. Each of these is a range of
	// the index.
	var ranges bson.A
	var same bson.D
	for i, k := range p.keys {
		for _, beyond := range beyond(k.path, from.values[i], k.desc != backward) {
			ranges = append(ranges, append(append(bson.D{}, same...), beyond))
		}
		same = append(same, bson.E{k.path, from.values[i]})
	}
	if len(ranges) == 0 { // behind the greatest value of all
		ranges = bson.A{bson.D{{"$nor", bson.A{bson.D{}}}}}
	}
	return append(filter, bson.E{"$or", ranges}), nil
}

// classes are the types of values in the order in which MongoDB compares them, by the names that
// $type takes. https://www.mongodb.com/docs/manual/reference/bson-type-comparison-order/
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

// classOf returns where in classes a value belongs; none for types that no place can be told by, as
// $gt does not take them.
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

// beyond returns the conditions of the values greater than v, or less: those of its own class, as
// $gt and $lt compare no others, and those of the classes beyond.
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
			out = append(out, bson.E{path, nil}) // and what is missing
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

// beyondInClass returns the conditions of the values of v's class that are greater, or less.
func beyondInClass(class int, v bson.RawValue, less bool) []any {
	number := class == numberClass
	switch {
	case class == 0 || class == nullClass || class == len(classes)-1: // all are equal
		return nil
	// it is the least number, and is neither greater nor less than others to $gt and $lt
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
