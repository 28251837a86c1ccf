package metadata

import (
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// array is the design that stores [{key, value}, …].
type array struct{ field string }

func (array) checkKey(key string) error {
	if key == "" {
		return fmt.Errorf("%w: %q", ErrBadKey, key)
	}
	return nil
}

func (array) checkValue(any) error { return nil }

// all returns the expression for the array; it is empty if the field is missing.
func (a array) all() bson.D {
	return bson.D{{"$ifNull", bson.A{"$" + a.field, bson.A{}}}}
}

// keys returns the expression for the keys in the array.
func (a array) keys() bson.D {
	return bson.D{{"$ifNull", bson.A{"$" + a.field + ".key", bson.A{}}}}
}

func literal(v any) bson.D { return bson.D{{"$literal", v}} }

func (a array) size() bson.D { return bson.D{{"$size", a.all()}} }

func (a array) has(key string) bson.D {
	return bson.D{{"$in", bson.A{literal(key), a.keys()}}}
}

// set replaces the first entry with the key in place, removes other entries with the key, and
// appends a new entry if the array had no such entry.
func (a array) set(key string, value any) mongo.Pipeline {
	entry := literal(bson.D{{"key", key}, {"value", value}})
	at := bson.D{{"$indexOfArray", bson.A{a.keys(), literal(key)}}}
	others := func(from any) bson.D {
		return bson.D{{"$filter", bson.D{
			{"input", from},
			{"cond", bson.D{{"$ne", bson.A{"$$this.key", literal(key)}}}},
		}}}
	}
	size := bson.D{{"$size", "$$all"}}
	// $slice does not accept a length of zero.
	head := bson.D{{
		"$cond",
		bson.A{bson.D{{"$gt", bson.A{"$$at", 0}}}, bson.D{{"$slice", bson.A{"$$all", "$$at"}}}, bson.A{}},
	}}
	tail := others(bson.D{{"$slice", bson.A{"$$all", "$$at", bson.D{{"$add", bson.A{size, 1}}}}}})
	replaced := bson.D{{"$concatArrays", bson.A{head, bson.A{entry}, tail}}}
	appended := bson.D{{"$concatArrays", bson.A{"$$all", bson.A{entry}}}}
	return mongo.Pipeline{{{"$set", bson.D{{a.field, bson.D{{"$let", bson.D{
		{"vars", bson.D{{"all", a.all()}, {"at", at}}},
		{"in", bson.D{{"$cond", bson.A{bson.D{{"$gte", bson.A{"$$at", 0}}}, replaced, appended}}}},
	}}}}}}}}
}

func (a array) unset(key string) bson.D {
	return bson.D{{"$pull", bson.D{{a.field, bson.D{{"key", key}}}}}}
}

func (a array) attributes(doc bson.Raw) ([]Attribute, error) {
	v := doc.Lookup(a.field)
	if v.IsZero() {
		return nil, nil
	}
	var out []Attribute
	if err := v.Unmarshal(&out); err != nil {
		return nil, fmt.Errorf("metadata: read the field %s: %w", a.field, err)
	}
	return out, nil
}

// where puts the key and the condition on the value into one $elemMatch. So both bounds of the
// compound index apply to the same entry.
func (a array) where(c Condition) bson.D {
	entry := bson.D{{"key", c.key}}
	if c.value[0].Key != "$exists" {
		entry = append(entry, bson.E{"value", c.value})
	}
	return bson.D{{a.field, bson.D{{"$elemMatch", entry}}}}
}

func (a array) entries() any {
	return bson.D{{"$map", bson.D{
		{"input", a.all()},
		{"in", bson.D{{"k", "$$this.key"}, {"v", "$$this.value"}}},
	}}}
}

func (a array) index() mongo.IndexModel {
	return mongo.IndexModel{Keys: bson.D{{a.field + ".key", 1}, {a.field + ".value", 1}}}
}
