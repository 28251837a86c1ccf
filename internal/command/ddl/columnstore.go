package ddl

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// columnstore is an index type that MongoDB removed in 8.0.
const columnstore = "columnstore"

// checkColumnstore returns an error for a columnstore index.
func (s *indexSpec) checkColumnstore() error {
	for it := s.key.Iter(); it.Next(); {
		if v := it.Value(); v.Type == bsonx.TypeString && v.Str() == columnstore {
			return mongoerr.New(mongoerr.NotImplemented, "Columnstore indexes can no longer be created")
		}
	}
	return nil
}
