package keystring

import "github.com/sheafdb/sheaf/internal/bsonx"

// Append appends the key of v.
func Append(dst []byte, v bsonx.Value, desc bool) []byte { panic("pending") }

// Skip returns the length of the first encoded value of key.
func Skip(key []byte, desc bool) (int, error) { panic("pending") }
