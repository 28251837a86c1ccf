package command

import (
	"errors"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/oplog"
	"github.com/sheafdb/sheaf/internal/storage"
)

// readLimit is the cluster parameter defaultMaxTimeMS: the time limit of reads that bring none. It is immutable.
type readLimit struct {
	Millis int64         // 0 is no limit
	at     storage.Stamp // of the change
}

var readLimitFields = []Field{{Name: "readOperations", Type: SafeInt, Check: Between(0, maxTimeMillisLimit)}}

// parseReadLimit reads a value of defaultMaxTimeMS.
func parseReadLimit(doc bsonx.Doc, at storage.Stamp) (*readLimit, error) {
	limit := &readLimit{at: at}
	err := ParseFields(defaultMaxTime, doc, readLimitFields, func(_ int, v bsonx.Value) error {
		limit.Millis = bsonx.SaturatingInt64(v)
		return nil
	})
	var malformed *mongoerr.Error
	if errors.As(err, &malformed) {
		return nil, mongoerr.New(mongoerr.BadValue, "Failed parsing new defaultMaxTimeMS value: %s", malformed.Message)
	}
	return limit, err
}

// Hold implements clusterValue.
func (l *readLimit) Hold(s *Service) { s.ReadLimit.Store(l) }

// Document implements clusterValue.
func (l *readLimit) Document() bsonx.Doc {
	return bsonx.NewDoc("_id", defaultMaxTime, "clusterParameterTime", oplog.Timestamp(l.at), "readOperations", l.Millis)
}
