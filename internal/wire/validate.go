package wire

import "github.com/sheafdb/sheaf/internal/bsonx"

// validate checks a document that came from a client.
func validate(b []byte) error { return bsonx.Validate(b, bsonx.Limits{}) }
