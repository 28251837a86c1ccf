package metadata

import (
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// array stores [{key, value}, …].
type array struct{ field string }

func (array) checkKey(key string) error {
	if key == "" {
		return fmt.Errorf("%w: %q", ErrBadKey, key)
	}
	return nil
}

func (array) checkValue(any) error { return nil }

// all is the array; empty where there is none.
func (a array) all() bson.D {
	return bson.D{{Key: "$ifNull", Value: bson.A{"$" + a.field, bson.A{}}}}
}

// keys are those of the array.
func (a array) keys() bson.D {
	return bson.D{{Key: "$ifNull", Value: bson.A{"$" + a.field + ".key", bson.A{}}}}
}

func literal(v any) bson.D { return bson.D{{Key: "$literal", Value: v}} }

func (a array) size() bson.D { return bson.D{{Key: "$size", Value: a.all()}} }

func (a array) has(key string) bson.D {
	return bson.D{{Key: "$in", Value: bson.A{literal(key), a.keys()}}}
}

// set replaces the first entry of the key where it stands, drops others of it, and appends one where there is none.
func (a array) set(key string, value any) mongo.Pipeline {
	entry := literal(bson.D{{Key: "key", Value: key}, {Key: "value", Value: value}})
	at := bson.D{{Key: "$indexOfArray", Value: bson.A{a.keys(), literal(key)}}}
	others := func(from any) bson.D {
		return bson.D{{Key: "$filter", Value: bson.D{
			{Key: "input", Value: from},
			{Key: "cond", Value: bson.D{{Key: "$ne", Value: bson.A{"$$this.key", literal(key)}}}},
		}}}
	}
	size := bson.D{{Key: "$size", Value: "$$all"}}
	// $slice takes no length of zero.
	head := bson.D{{Key: "$cond", Value: bson.A{bson.D{{Key: "$gt", Value: bson.A{"$$at", 0}}}, bson.D{{Key: "$slice", Value: bson.A{"$$all", "$$at"}}}, bson.A{}}}}
	tail := others(bson.D{{Key: "$slice", Value: bson.A{"$$all", "$$at", bson.D{{Key: "$add", Value: bson.A{size, 1}}}}}})
	replaced := bson.D{{Key: "$concatArrays", Value: bson.A{head, bson.A{entry}, tail}}}
	appended := bson.D{{Key: "$concatArrays", Value: bson.A{"$$all", bson.A{entry}}}}
	return mongo.Pipeline{{{Key: "$set", Value: bson.D{{Key: a.field, Value: bson.D{{Key: "$let", Value: bson.D{
		{Key: "vars", Value: bson.D{{Key: "all", Value: a.all()}, {Key: "at", Value: at}}},
		{Key: "in", Value: bson.D{{Key: "$cond", Value: bson.A{bson.D{{Key: "$gte", Value: bson.A{"$$at", 0}}}, replaced, appended}}}},
	}}}}}}}}
}

func (a array) unset(key string) bson.D {
	return bson.D{{Key: "$pull", Value: bson.D{{Key: a.field, Value: bson.D{{Key: "key", Value: key}}}}}}
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

// where puts the key and the value's condition into one $elemMatch: both bounds of the compound index hold for the same entry.
func (a array) where(c Condition) bson.D {
	entry := bson.D{{Key: "key", Value: c.key}}
	if c.value[0].Key != "$exists" {
		entry = append(entry, bson.E{Key: "value", Value: c.value})
	}
	return bson.D{{Key: a.field, Value: bson.D{{Key: "$elemMatch", Value: entry}}}}
}

func (a array) entries() any {
	return bson.D{{Key: "$map", Value: bson.D{
		{Key: "input", Value: a.all()},
		{Key: "in", Value: bson.D{{Key: "k", Value: "$$this.key"}, {Key: "v", Value: "$$this.value"}}},
	}}}
}

func (a array) index() mongo.IndexModel {
	return mongo.IndexModel{Keys: bson.D{{Key: a.field + ".key", Value: 1}, {Key: a.field + ".value", Value: 1}}}
}
