package query

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/keystring"
	"github.com/sheafdb/sheaf/internal/table"
)

// RecordIDOf returns the record id of a row: its _id, its insertion sequence in a capped
// collection, or its ts in the oplog.
func RecordIDOf(coll *table.Collection, row *exec.Row) (bsonx.Value, error) {
	id, _, _, err := keystring.Decode(nil, row.RecordKey[recordPrefixLen:], false, nil)
	if n, ok := id.AsExactInt64(); ok && coll.Capped != nil {
		id = bsonx.Int64(n)
	}
	if coll.Collation != nil {
		id = collation.Display(id)
	}
	return id, err
}

// recordPrefixLen is the length of the collection's prefix in a record key; see package keyspace.
const recordPrefixLen = 5
