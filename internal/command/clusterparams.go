package command

import (
	"errors"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/oplog"
	"github.com/sheafdb/sheaf/internal/storage"
)

// The cluster parameters; their values are kept where MongoDB keeps them.
const (
	changeStreamOptions = "changeStreamOptions"
	defaultMaxTime      = "defaultMaxTimeMS"
	ClusterParameters   = "clusterParameters"
)

// ClusterParameter is a parameter of all members.
type ClusterParameter struct {
	Name string
	// parse reads a value that is set at a time.
	Parse func(doc bsonx.Doc, at storage.Stamp) (clusterValue, error)
	// value returns the one that holds.
	Value func(s *Service) clusterValue
}

// clusterValue is the value of a cluster parameter. It is immutable.
type clusterValue interface {
	// document is the value as it is shown and kept.
	Document() bsonx.Doc
	// hold makes the value the one that holds.
	Hold(s *Service)
}

var ClusterTable = [...]ClusterParameter{
	{
		changeStreamOptions, func(doc bsonx.Doc, at storage.Stamp) (clusterValue, error) { return parseImagePolicy(doc, at) },
		func(s *Service) clusterValue { return s.images.Load() },
	},
	{
		defaultMaxTime, func(doc bsonx.Doc, at storage.Stamp) (clusterValue, error) { return parseReadLimit(doc, at) },
		func(s *Service) clusterValue { return s.ReadLimit.Load() },
	},
}

// imagePolicy says how long change streams show versions of documents before changes. It is immutable.
type imagePolicy struct {
	// after is for how long; 0 is as long as the log has them.
	after time.Duration
	at    storage.Stamp // of the change
}

var (
	changeStreamFields = []Field{{Name: "preAndPostImages", Type: Object, Required: true}}
	expiryFields       = []Field{{
		Name: "expireAfterSeconds", Required: true,
		Type: OneOf(bsonx.TypeString, bsonx.TypeInt64, bsonx.TypeInt32, bsonx.TypeDecimal128, bsonx.TypeDouble),
	}}
)

// parseImagePolicy reads a value of changeStreamOptions.
func parseImagePolicy(doc bsonx.Doc, at storage.Stamp) (*imagePolicy, error) {
	var expire bsonx.Value
	err := ParseFields(changeStreamOptions, doc, changeStreamFields, func(_ int, v bsonx.Value) error {
		return ParseFields(changeStreamOptions+".preAndPostImages", v.Doc(), expiryFields, func(_ int, v bsonx.Value) error {
			expire = v
			return nil
		})
	})
	var malformed *mongoerr.Error
	if errors.As(err, &malformed) {
		return nil, mongoerr.New(mongoerr.BadValue, "Failed parsing new changeStreamOptions value: %s", malformed.Message)
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

// maxExpiry is the longest time in seconds that is kept, 200 years.
const maxExpiry = 200 * 366 * 24 * 60 * 60

// Hold implements clusterValue.
func (p *imagePolicy) Hold(s *Service) { s.images.Store(p) }

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

// expired reports whether a version that was kept at a time is no longer shown.
func (p *imagePolicy) expired(kept, now time.Time) bool {
	return p.after > 0 && now.Sub(kept) > p.after
}
