package oplog

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/storage"
)

// Timestamp returns a commit stamp as a BSON timestamp.
func Timestamp(s storage.Stamp) bsonx.Value { return bsonx.Timestamp(s.Seconds(), s.Number()) }
