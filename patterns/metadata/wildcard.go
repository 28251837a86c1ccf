package metadata

import (
	"fmt"
	"reflect"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// wildcard is the design that stores {key: value, …}.
type wildcard struct{ field string }

func (wildcard) checkKey(key string) error { return checkFieldName(key) }

// checkValue refuses arrays, because a condition would match a single element of an array.
func (wildcard) checkValue(v any) error {
	kind := reflect.ValueOf(v).Kind()
	if _, isDoc := v.(bson.D); isDoc || kind != reflect.Slice && kind != reflect.Array {
		return nil
	}
	if t, _, err := bson.MarshalValue(v); err != nil || t == bson.TypeArray {
		return fmt.Errorf("%w: %T", ErrBadValue, v)
	}
	return nil
}

func (w wildcard) doc() bson.D {
	return bson.D{{"$ifNull", bson.A{"$" + w.field, bson.D{{"$literal", bson.D{}}}}}}
}

func (w wildcard) size() bson.D { return bson.D{{"$size", w.entries()}} }

func (w wildcard) has(key string) bson.D {
	return bson.D{{"$ne", bson.A{bson.D{{"$type", "$" + w.field + "." + key}}, "missing"}}}
}

func (w wildcard) set(key string, value any) mongo.Pipeline {
	return mongo.Pipeline{{{"$set", bson.D{{w.field, bson.D{{"$mergeObjects", bson.A{
		"$" + w.field, literal(bson.D{{key, value}}),
	}}}}}}}}
}

func (w wildcard) unset(key string) bson.D {
	return bson.D{{"$unset", bson.D{{w.field + "." + key, ""}}}}
}

func (w wildcard) attributes(doc bson.Raw) ([]Attribute, error) {
	v := doc.Lookup(w.field)
	if v.IsZero() {
		return nil, nil
	}
	var fields bson.D
	if err := v.Unmarshal(&fields); err != nil {
		return nil, fmt.Errorf("metadata: read the field %s: %w", w.field, err)
	}
	var out []Attribute
	for _, e := range fields {
		out = append(out, Attribute{e.Key, e.Value})
	}
	return out, nil
}

func (w wildcard) where(c Condition) bson.D {
	return bson.D{{w.field + "." + c.key, c.value}}
}

func (w wildcard) entries() any { return bson.D{{"$objectToArray", w.doc()}} }

func (w wildcard) index() mongo.IndexModel {
	return mongo.IndexModel{Keys: bson.D{{w.field + ".$**", 1}}}
}
