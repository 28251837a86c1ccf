package changestream

import (
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/storage"
)

// Spec is the argument of $changeStream.
type Spec struct {
	// FullDocument and Before are the options fullDocument and fullDocumentBeforeChange. They say
	// whether events have the versions of the document after and before the change.
	FullDocument, Before string
	// Expanded is the option showExpandedEvents, which adds events for DDL commands.
	Expanded bool
	// Cluster is the option allChangesForCluster, with which the stream watches all databases.
	Cluster bool
	// After is the resume token of an event: the stream begins with the next event. If After is
	// nil, the stream begins at Start.
	After *Token
	// AfterDoc is the document of After, as the client sent it.
	AfterDoc bsonx.Doc
	// Start is the stamp of the first oplog entry to read. 0 means to start with the next change.
	Start storage.Stamp
}

// The values of FullDocument and Before.
const (
	off           = "off"
	defaultMode   = "default"
	updateLookup  = "updateLookup"
	whenAvailable = "whenAvailable"
	required      = "required"
)

// Parse checks the argument of $changeStream and converts it to a Spec.
func Parse(arg bsonx.Value) (*Spec, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(6188500,
			"$changeStream must take a nested object but found: %s", bsonx.FormatShell(arg))
	}
	s := &Spec{FullDocument: defaultMode, Before: off}
	starts := 0
	for it := arg.Doc().Iter(); it.Next(); {
		key, v := string(it.Key()), it.Value()
		starting, err := s.set(key, v)
		if err != nil {
			return nil, err
		}
		if starting {
			starts++
		}
	}
	if starts > 1 {
		return nil, mongoerr.New(40674, "Only one type of resume option is allowed, but multiple were found.")
	}
	return s, nil
}

// set sets the option key. starting is true if the option determines where the stream begins.
func (s *Spec) set(key string, v bsonx.Value) (starting bool, err error) {
	switch key {
	case "fullDocument":
		s.FullDocument, err = mode(key, v, defaultMode, updateLookup, whenAvailable, required)
	case "fullDocumentBeforeChange":
		s.Before, err = mode(key, v, off, whenAvailable, required)
	case "showExpandedEvents":
		s.Expanded, err = flag(key, v)
	case "allChangesForCluster":
		s.Cluster, err = flag(key, v)
	case "showMigrationEvents", "showSystemEvents", "showRawUpdateDescription", "showCommitTimestamp",
		"matchCollectionUUIDForUpdateLookup":
		_, err = flag(key, v)
	case "resumeAfter", "startAfter":
		return true, s.resume(key, v)
	case "startAtOperationTime":
		return true, s.startAt(v)
	default:
		return false, mongoerr.New(mongoerr.IDLUnknownField, "BSON field '$changeStream.%s' is an unknown field.", key)
	}
	return false, err
}

func (s *Spec) startAt(v bsonx.Value) error {
	if v.Type != bsonx.TypeTimestamp {
		return wrongType("startAtOperationTime", v, "timestamp")
	}
	s.Start = max(storage.NewStamp(v.Timestamp()), 1)
	return nil
}

func (s *Spec) resume(key string, v bsonx.Value) error {
	if v.Type != bsonx.TypeDocument {
		return wrongType(key, v, "object")
	}
	t, err := parseToken(v.Doc())
	if err != nil {
		return err
	}
	if key == "resumeAfter" && t.FromInvalidate {
		return mongoerr.New(mongoerr.InvalidResumeToken, "Attempting to resume a change stream using 'resumeAfter' is not allowed from an invalidate notification.")
	}
	s.After, s.AfterDoc = &t, v.Doc().Clone()
	return nil
}

func wrongType(key string, v bsonx.Value, want string) error {
	return mongoerr.New(mongoerr.TypeMismatch, "BSON field '$changeStream.%s' is the wrong type '%s', expected type '%s'", key, v.Type, want)
}

func flag(key string, v bsonx.Value) (bool, error) {
	if v.Type != bsonx.TypeBool {
		return false, wrongType(key, v, "bool")
	}
	return v.Bool(), nil
}

func mode(key string, v bsonx.Value, modes ...string) (string, error) {
	if v.Type != bsonx.TypeString {
		return "", wrongType(key, v, "string")
	}
	if !slices.Contains(modes, v.Str()) {
		return "", mongoerr.New(mongoerr.BadValue, "Enumeration value '%s' for field '$changeStream.%s' is not a valid value.", v.Str(), key)
	}
	return v.Str(), nil
}

// Scope is the data that a stream watches: a collection, a database if Collection is empty, or the
// whole store if DB and Collection are empty.
type Scope struct{ DB, Collection string }

// has reports whether a stream with this scope returns the changes of a collection.
func (s Scope) has(db, collection string) bool {
	switch {
	case s.Collection != "":
		return db == s.DB && collection == s.Collection
	case s.DB != "" && db != s.DB:
		return false
	case strings.HasPrefix(collection, "system."):
		return false
	default:
		return db != "admin" && db != "config" && db != "local"
	}
}
