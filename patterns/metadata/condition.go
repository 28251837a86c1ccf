package metadata

import "go.mongodb.org/mongo-driver/v2/bson"

// Condition is a predicate on the attributes of one key.
type Condition struct {
	key   string
	value bson.D // the operators of a filter
}

// Equal is met by documents with a value of a key. Values of different types are different, but
// numbers of all types compare.
func Equal(key string, value any) Condition {
	return Condition{key, bson.D{{"$eq", value}}}
}

// In is met by documents with one of several values of a key.
func In(key string, values ...any) Condition {
	return Condition{key, bson.D{{"$in", bson.A(values)}}}
}

// Between is met by documents with a value from low to below high. A bound that is nil is none;
// with neither, it is Exists.
func Between(key string, low, high any) Condition {
	var value bson.D
	if low != nil {
		value = append(value, bson.E{"$gte", low})
	}
	if high != nil {
		value = append(value, bson.E{"$lt", high})
	}
	if value == nil {
		return Exists(key)
	}
	return Condition{key, value}
}

// Exists is met by documents that have a key.
func Exists(key string) Condition {
	return Condition{key, bson.D{{"$exists", true}}}
}
