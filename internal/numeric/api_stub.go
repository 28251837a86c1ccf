package numeric

import "github.com/sheafdb/sheaf/internal/bsonx"

// Inc adds by the rules of $inc.
func Inc(a, b bsonx.Value) (bsonx.Value, error) { return a, nil }

// IncMul multiplies by the rules of $mul.
func IncMul(a, b bsonx.Value) (bsonx.Value, error) { return a, nil }

// Add adds by the rules of aggregation; see Sum for more than two.
func Add(a, b bsonx.Value) (bsonx.Value, error) { return a, nil }

// Subtract subtracts by the rules of aggregation.
func Subtract(a, b bsonx.Value) (bsonx.Value, error) { return a, nil }

// Multiply multiplies by the rules of aggregation.
func Multiply(a, b bsonx.Value) (bsonx.Value, error) { return a, nil }

// Divide divides by the rules of aggregation.
func Divide(a, b bsonx.Value) (bsonx.Value, error) { return a, nil }

// Mod returns the remainder by the rules of aggregation.
func Mod(a, b bsonx.Value) (bsonx.Value, error) { return a, nil }
