package command

import (
	"errors"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/oplog"
	"github.com/sheafdb/sheaf/internal/storage"
)

// The names of the cluster parameters, and of the collection in the config database that stores
// them, as in MongoDB.
const (
	changeStreamOptions = "changeStreamOptions"
	defaultMaxTime      = "defaultMaxTimeMS"
	ClusterParameters   = "clusterParameters"
)

// imagePolicy is the cluster parameter changeStreamOptions: how long change streams may show
// pre-images. It is immutable.
type imagePolicy struct {
	// after is the age at which a pre-image expires; 0 keeps pre-images as long as the oplog has
	// them.
	after time.Duration
	at    storage.Stamp // when the parameter was set
}

var (
	changeStreamFields = []Field{{Name: "preAndPostImages", Type: Object, Required: true}}
	expiryFields       = []Field{{
		Name: "expireAfterSeconds", Required: true,
		Type: OneOf(bsonx.TypeString, bsonx.TypeInt64, bsonx.TypeInt32, bsonx.TypeDecimal128, bsonx.TypeDouble),
	}}
)

// parseImagePolicy parses a value of changeStreamOptions, which was set at the stamp at.
func parseImagePolicy(doc bsonx.Doc, at storage.Stamp) (*imagePolicy, error) {
	var expire bsonx.Value
	err := ParseFields(changeStreamOptions, doc, changeStreamFields, func(_ int, v bsonx.Value) error {
		return ParseFields(changeStreamOptions+".preAndPostImages", v.Doc(), expiryFields,
			func(_ int, v bsonx.Value) error {
				expire = v
				return nil
			})
	})
	var malformed *mongoerr.Error
	if errors.As(err, &malformed) {
		return nil, mongoerr.New(mongoerr.BadValue,
			"Failed parsing new changeStreamOptions value: %s", malformed.Message)
	}
	if expire.Type == bsonx.TypeString {
		if expire.Str() != "off" {
			return nil, mongoerr.New(mongoerr.BadValue, "Non-numeric value of 'expireAfterSeconds' should be 'off'")
		}
		return &imagePolicy{at: at}, nil
	}
	n := bsonx.SaturatingInt64(expire)
	if n <= 0 {
		return nil, mongoerr.New(mongoerr.BadValue, "Numeric value of 'expireAfterSeconds' should be positive")
	}
	return &imagePolicy{after: time.Duration(min(n, maxExpiry)) * time.Second, at: at}, nil
}

// maxExpiry is the upper bound for expireAfterSeconds, 200 years in seconds. Larger values are
// reduced to it, because a time.Duration holds 292 years. MongoDB has no such limit.
const maxExpiry = 200 * 366 * 24 * 60 * 60

// Document implements clusterValue.
func (p *imagePolicy) Document() bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.String("_id", changeStreamOptions)
	b.Value("clusterParameterTime", oplog.Timestamp(p.at))
	b.StartDocField("preAndPostImages")
	if p.after == 0 {
		b.String("expireAfterSeconds", "off")
	} else {
		b.Int64("expireAfterSeconds", int64(p.after/time.Second))
	}
	b.End()
	b.End()
	return b.Bytes()
}

// expired reports whether a pre-image that was written at the time kept is too old to be shown at
// the time now.
func (p *imagePolicy) expired(kept, now time.Time) bool {
	return p.after > 0 && now.Sub(kept) > p.after
}

// readLimit is the cluster parameter defaultMaxTimeMS: the time limit of reads without a maxTimeMS.
// It is immutable.
type readLimit struct {
	Millis int64         // 0 means no limit
	at     storage.Stamp // when the parameter was set
}

var readLimitFields = []Field{{Name: "readOperations", Type: SafeInt, Check: Between(0, limits.TimeMillis)}}

// parseReadLimit parses a value of defaultMaxTimeMS, which was set at the stamp at.
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

// Document implements clusterValue.
func (l *readLimit) Document() bsonx.Doc {
	return bsonx.NewDoc("_id", defaultMaxTime, "clusterParameterTime",
		oplog.Timestamp(l.at), "readOperations", l.Millis)
}
