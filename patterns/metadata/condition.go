package metadata

import "go.mongodb.org/mongo-driver/v2/bson"

// Condition is a condition on the values of one key.
type Condition struct {
	key   string
	value bson.D // the operators of the filter
}

// Equal matches documents in which the key has the value. Values of different types are different,
// except that numbers of all types compare.
func Equal(key string, value any) Condition {
	return Condition{key, bson.D{{"$eq", value}}}
}

// In matches documents in which the key has one of the values.
func In(key string, values ...any) Condition {
	return Condition{key, bson.D{{"$in", bson.A(values)}}}
}

// Between matches documents in which the key has a value of at least low and less than high. A nil
// bound sets no limit. If both bounds are nil, Between is the same as Exists.
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

// Exists matches documents that have the key.
func Exists(key string) Condition {
	return Condition{key, bson.D{{"$exists", true}}}
}
