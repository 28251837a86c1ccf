package command

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// ReadConcern is the parsed readConcern argument.
type ReadConcern struct {
	// Level is empty where none was sent; it then means "local".
	Level string
	// Given tells readConcern: {} from no readConcern.
	Given bool

	hasAfterClusterTime bool
	hasAtClusterTime    bool
}

// WriteConcern is the parsed writeConcern argument.
type WriteConcern struct {
	Given bool
	// W is the number of members; -1 stands for Mode.
	W    int
	Mode string
	// Journal is j: true, Majority is w: "majority"; both make acknowledged writes survive the loss of power.
	Journal  bool
	Majority bool
	Timeout  int64
}

// Unacknowledged reports w: 0.
func (w *WriteConcern) Unacknowledged() bool { return w.Given && w.W == 0 && w.Mode == "" }

// Durable reports whether writes must survive the loss of power before they are acknowledged.
func (w *WriteConcern) Durable() bool { return w.Journal || w.Majority }

const modeMajority = "majority"

var readConcernLevels = []string{"local", "majority", "linearizable", "available", "snapshot"}

var readConcernFields = []Field{
	{Name: "level", Type: String},
	{Name: "afterOpTime", Type: Object},
	{Name: "afterClusterTime", Type: Timestamp},
	{Name: "atClusterTime", Type: Timestamp},
	{Name: "allowTransactionTableSnapshot", Type: Bool},
	{Name: "waitLastStableRecoveryTimestamp", Type: Bool},
	{Name: "provenance", Type: String},
}

func setReadConcern(g *Generic, _ string, v bsonx.Value) error {
	rc := &g.ReadConcern
	rc.Given = true
	return ParseFields("readConcern", v.Doc(), readConcernFields, func(i int, v bsonx.Value) error {
		switch readConcernFields[i].Name {
		case "level":
			for _, level := range readConcernLevels {
				if string(v.StrBytes()) == level {
					rc.Level = level
					return nil
				}
			}
			return enumError("readConcern.level", v)
		case "afterClusterTime":
			rc.hasAfterClusterTime = true
		case "atClusterTime":
			rc.hasAtClusterTime = true
		}
		return nil
	})
}

func enumError(path string, v bsonx.Value) error {
	return mongoerr.New(mongoerr.BadValue, "Enumeration value '%s' for field '%s' is not a valid value.", v.StrBytes(), path)
}

// checkReadConcern applies what a standalone server refuses.
func checkReadConcern(d *Definition, rc *ReadConcern) error {
	if !rc.Given {
		return nil
	}
	if rc.hasAtClusterTime && rc.Level != "snapshot" {
		return mongoerr.New(mongoerr.InvalidOptions, "atClusterTime field can be set only if level is equal to snapshot")
	}
	if rc.hasAfterClusterTime && rc.hasAtClusterTime {
		return mongoerr.New(mongoerr.InvalidOptions, "Specifying both atClusterTime and afterClusterTime is not allowed")
	}
	if rc.Level != "" && rc.Level != "local" && !d.Read {
		return mongoerr.New(mongoerr.InvalidOptions,
			"Command %s does not support { readConcern: { level: \"%s\", provenance: \"clientSupplied\" } } :: caused by :: "+
				"read concern not supported", d.Name, rc.Level)
	}
	switch {
	case rc.hasAfterClusterTime:
		return mongoerr.New(mongoerr.IllegalOperation, "Cannot specify afterClusterTime readConcern without replication enabled")
	case rc.Level == "snapshot":
		return mongoerr.New(mongoerr.NotAReplicaSet, "node needs to be a replica set member to use readConcern: snapshot")
	case rc.Level == "linearizable":
		return mongoerr.New(mongoerr.NotAReplicaSet, "node needs to be a replica set member to use read concern")
	}
	return nil
}

var writeConcernFields = []Field{
	{Name: "w"},
	{Name: "j", Type: SafeBool},
	{Name: "fsync", Type: SafeBool},
	{Name: "wtimeout"},
	{Name: "wElectionId"},
	{Name: "wOpTime"},
	{Name: "getLastError"},
	{Name: "provenance", Type: String},
}

// maxMembers is the largest number of replica set members.
const maxMembers = 50

func setWriteConcern(g *Generic, _ string, v bsonx.Value) error {
	wc := &g.WriteConcern
	*wc = WriteConcern{Given: true, W: 1}
	fsync := false
	err := ParseFields("WriteConcernOptions", v.Doc(), writeConcernFields, func(i int, v bsonx.Value) error {
		switch writeConcernFields[i].Name {
		case "w":
			return wc.setW(v)
		case "j":
			wc.Journal = v.Truthy()
		case "fsync":
			fsync = v.Truthy()
		case "wtimeout":
			wc.Timeout, _ = v.AsInt64()
		}
		return nil
	})
	if err == nil && fsync && wc.Journal {
		err = mongoerr.New(mongoerr.FailedToParse, "fsync and j options cannot be used together")
	}
	wc.Journal = wc.Journal || fsync
	return err
}

func (w *WriteConcern) setW(v bsonx.Value) error {
	switch {
	case v.Type.IsNumber():
		n := saturatingInt64(v)
		if n < 0 || n > maxMembers {
			return mongoerr.New(mongoerr.FailedToParse,
				"w has to be a non-negative number and not greater than %d; found: %d", maxMembers, n)
		}
		w.W = int(n)
	case v.Type == bsonx.TypeString:
		w.W, w.Mode = -1, v.Str()
		w.Majority = w.Mode == modeMajority
	case v.Type == bsonx.TypeDocument:
		w.W, w.Mode = -1, "" // tags: a standalone takes them as w: 1
	case v.IsNull() || v.Type == bsonx.TypeUndefined:
	default:
		return mongoerr.New(mongoerr.FailedToParse, "w has to be a number, string, or object; found: %s", v.Type)
	}
	return nil
}

// checkWriteConcern applies what a standalone server refuses.
func checkWriteConcern(d *Definition, wc *WriteConcern) error {
	if !wc.Given {
		return nil
	}
	switch {
	case !d.Write:
		return mongoerr.New(mongoerr.InvalidOptions, "Command does not support writeConcern")
	case wc.W > 1:
		return mongoerr.New(mongoerr.BadValue, "cannot use 'w' > 1 when a host is not replicated")
	case wc.Mode != "" && wc.Mode != modeMajority:
		return mongoerr.New(mongoerr.BadValue,
			"cannot use non-majority 'w' mode \"%s\" when a host is not a member of a replica set", wc.Mode)
	}
	return nil
}

var readPreferenceModes = []string{"primary", "primaryPreferred", "secondary", "secondaryPreferred", "nearest"}

var readPreferenceFields = []Field{
	{Name: "mode", Type: String, Required: true},
	{Name: "tags", Type: Array},
	{Name: "maxStalenessSeconds", Type: SafeInt},
	{Name: "hedge", Type: Object},
}

// setReadPreference checks a read preference. Every member may read here, so it has no further effect.
func setReadPreference(g *Generic, _ string, v bsonx.Value) error {
	tags, staleness := false, false
	err := ParseFields("readPreference", v.Doc(), readPreferenceFields, func(i int, v bsonx.Value) error {
		switch readPreferenceFields[i].Name {
		case "mode":
			for _, mode := range readPreferenceModes {
				if string(v.StrBytes()) == mode {
					g.ReadPreference = mode
					return nil
				}
			}
			return enumError("readPreference.mode", v)
		case "tags":
			tags = !v.Doc().IsEmpty() && !(v.Doc().Len() == 1 && v.Doc().Index(0).Type == bsonx.TypeDocument && v.Doc().Index(0).Doc().IsEmpty())
		case "maxStalenessSeconds":
			n := saturatingInt64(v)
			staleness = n > 0
			if n < 0 {
				return mongoerr.New(mongoerr.BadValue, "maxStalenessSeconds value can not be negative")
			}
			if n > 0 && n < 90 {
				return mongoerr.New(mongoerr.MaxStalenessOutOfRange, "maxStalenessSeconds value must be at least 90 seconds")
			}
		}
		return nil
	})
	if err == nil && g.ReadPreference == "primary" {
		if tags {
			return mongoerr.New(mongoerr.BadValue, "Only empty tags are allowed with primary read preference")
		}
		if staleness {
			return mongoerr.New(mongoerr.BadValue, "maxStalenessSeconds can not be specified with primary mode")
		}
	}
	return err
}

// numberText prints a number as it stands in messages.
func numberText(v bsonx.Value) string {
	if f, ok := v.AsFloat64(); ok {
		return strings.TrimSuffix(formatFloat(f), ".0")
	}
	return v.Type.String()
}
