package command

import (
	"math"
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/storage"
)

// ReadConcern is the parsed readConcern argument.
type ReadConcern struct {
	// Level is empty if the request has no level. An empty level means "local".
	Level string
	// Given is true if the request has a readConcern, even an empty one.
	Given bool
	// Default is true if Level comes from setDefaultRWConcern and not from the client.
	Default bool

	// AfterClusterTime and AtClusterTime are 0 if the request does not have them.
	AfterClusterTime storage.Stamp
	AtClusterTime    storage.Stamp
	hasAfterOpTime   bool
}

// IsEmpty reports whether the read concern asks for nothing: no level, no time and no afterOpTime.
func (rc *ReadConcern) IsEmpty() bool {
	return rc.Level == "" && rc.AfterClusterTime == 0 && rc.AtClusterTime == 0 && !rc.hasAfterOpTime
}

// The read concern levels. The server is the only member of its set, so every acknowledged write is
// also majority-committed.
const (
	LevelLocal        = "local"
	levelAvailable    = "available"
	LevelMajority     = "majority"
	LevelLinearizable = "linearizable"
	LevelSnapshot     = "snapshot"
)

// WriteConcern is the parsed writeConcern argument.
type WriteConcern struct {
	Given bool
	// W is the number of members. It is -1 if w is a mode or a document of tags.
	W    int
	Mode string
	Tags bsonx.Doc
	// Journal is j: true, Majority is w: "majority", NoJournal is j: false. Acknowledged writes
	// survive a loss of power with Journal, or with Majority and without NoJournal.
	Journal   bool
	Majority  bool
	NoJournal bool
	Timeout   int64
	// NoW is true if the document has no w, so that the w of the default write concern applies.
	NoW bool
}

// Named reports whether w is the name of a mode, which may be empty. An absent or null w counts as
// an empty name outside a replica set.
func (w *WriteConcern) Named() bool { return w.W == -1 && w.Tags == nil }

// Unacknowledged reports whether the client asked for w: 0, which means that it expects no result.
func (w *WriteConcern) Unacknowledged() bool { return w.Given && w.W == 0 }

// durable reports whether a write must survive a loss of power before it is acknowledged.
func (w *WriteConcern) durable() bool { return w.Journal || w.Majority && !w.NoJournal }

// ModeMajority is the mode of a write concern that waits for most members of the set.
const ModeMajority = "majority"

var readConcernLevels = []string{LevelLocal, LevelMajority, LevelLinearizable, levelAvailable, LevelSnapshot}

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
		case "provenance":
			return checkProvenance("readConcern.provenance", v)
		case "afterOpTime":
			rc.hasAfterOpTime = true
		case "afterClusterTime":
			return setTime(&rc.AfterClusterTime, "afterClusterTime", v)
		case "atClusterTime":
			return setTime(&rc.AtClusterTime, "atClusterTime", v)
		}
		return nil
	})
}

// provenances are the valid values of the field provenance, in which a router tells the origin of a
// concern.
var provenances = []string{
	"clientSupplied", "customDefault", "implicitDefault",
	"getLastErrorDefaults", "internalWriteDefault",
}

func checkProvenance(path string, v bsonx.Value) error {
	if slices.Contains(provenances, string(v.StrBytes())) {
		return nil
	}
	return enumError(path, v)
}

func enumError(path string, v bsonx.Value) error {
	return mongoerr.New(mongoerr.BadValue, "Enumeration value '%s' for field '%s' is not a valid value.", v.StrBytes(), path)
}

func setTime(to *storage.Stamp, name string, v bsonx.Value) error {
	if *to = StampOf(v); *to == 0 {
		return mongoerr.New(mongoerr.InvalidOptions, "%s cannot be a null timestamp", name)
	}
	return nil
}

// Check returns an error if the fields of the read concern contradict each other.
func (rc *ReadConcern) Check() error {
	switch level := rc.Level; {
	case rc.AfterClusterTime != 0 && rc.AtClusterTime != 0:
		return mongoerr.New(mongoerr.InvalidOptions, "Specifying both atClusterTime and afterClusterTime is not allowed")
	case rc.AfterClusterTime != 0 && rc.hasAfterOpTime:
		return mongoerr.New(mongoerr.InvalidOptions, "Can not specify both afterClusterTime and afterOpTime")
	case rc.AfterClusterTime != 0 && level != "" && level != LevelLocal &&
		level != LevelMajority && level != LevelSnapshot:
		return mongoerr.New(mongoerr.InvalidOptions,
			"afterClusterTime field can be set only if level is equal to majority, local, or snapshot")
	case rc.AtClusterTime != 0 && level != LevelSnapshot:
		return mongoerr.New(mongoerr.InvalidOptions, "atClusterTime field can be set only if level is equal to snapshot")
	case rc.hasAfterOpTime && level == LevelSnapshot:
		return mongoerr.New(mongoerr.InvalidOptions, "afterOpTime field cannot be set if level is equal to snapshot")
	default:
		return nil
	}
}

// ReadConcernUnsupported returns the error for a read concern level that the command does not
// support. reason is the last part of its message.
func ReadConcernUnsupported(command, level, reason string) error {
	return mongoerr.New(mongoerr.InvalidOptions,
		"Command %s does not support { readConcern: { level: \"%s\", provenance: \"clientSupplied\" } } :: caused by :: %s",
		command, level, reason)
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

func setWriteConcern(g *Generic, _ string, v bsonx.Value) error {
	wc := &g.WriteConcern
	*wc = WriteConcern{Given: true, W: 1, NoW: true}
	fsync := false
	err := ParseFields("WriteConcernOptions", v.Doc(), writeConcernFields, func(i int, v bsonx.Value) error {
		switch writeConcernFields[i].Name {
		case "w":
			return wc.setW(v)
		case "j":
			wc.Journal = v.Truthy()
			wc.NoJournal = !wc.Journal && !v.IsNull()
		case "fsync":
			fsync = v.Truthy()
		case "wtimeout":
			return wc.setTimeout(v)
		case "provenance":
			return checkProvenance("WriteConcernOptions.provenance", v)
		}
		return nil
	})
	if err == nil && fsync && wc.Journal {
		err = mongoerr.New(mongoerr.FailedToParse, "fsync and j options cannot be used together")
	}
	wc.Journal = wc.Journal || fsync
	return err
}

func (w *WriteConcern) setTimeout(v bsonx.Value) error {
	if w.Timeout, _ = v.AsInt64(); w.Timeout > math.MaxInt32 {
		return mongoerr.New(mongoerr.FailedToParse, "wtimeout must be a 32-bit integer")
	}
	return nil
}

func (w *WriteConcern) setW(v bsonx.Value) error {
	w.NoW = v.IsNull() || v.Type == bsonx.TypeUndefined
	switch {
	case v.Type.IsNumber():
		n := bsonx.SaturatingInt64(v)
		if n < 0 || n > limits.Members {
			return mongoerr.New(mongoerr.FailedToParse,
				"w has to be a non-negative number and not greater than %d; found: %d", limits.Members, n)
		}
		w.W = int(n)
	case v.Type == bsonx.TypeString && strings.ContainsRune(v.Str(), 0):
		return mongoerr.New(mongoerr.FailedToParse, "w has illegal embedded NUL byte, w: %s", v.Str())
	case v.Type == bsonx.TypeString:
		w.W, w.Mode = -1, v.Str()
		w.Majority = w.Mode == ModeMajority
	case v.Type == bsonx.TypeDocument:
		w.W, w.Tags = -1, v.Doc() // a standalone server treats tags as w: 1
		return checkTags(w.Tags)
	case w.NoW:
		w.W = -1 // a standalone server treats null as a mode
	default:
		return mongoerr.New(mongoerr.FailedToParse, "w has to be a number, string, or object; found: %s", v.Type)
	}
	return nil
}

func checkTags(tags bsonx.Doc) error {
	if tags.IsEmpty() {
		return mongoerr.New(mongoerr.FailedToParse, "tagged write concern requires tags")
	}
	for it := tags.Iter(); it.Next(); {
		if !it.Value().Type.IsNumber() {
			return mongoerr.New(mongoerr.FailedToParse, "tags must be a single level document with only number values")
		}
	}
	return nil
}

// Unmet returns the write concern error of a write that asks for more than a set of one member can
// give: more members, tags, or an unknown mode. It returns nil if the set satisfies w.
func (w *WriteConcern) Unmet() *mongoerr.Error {
	var err *mongoerr.Error
	switch {
	case w.W > 1:
		err = mongoerr.New(mongoerr.UnsatisfiableWriteConcern, "Not enough data-bearing nodes")
	case w.Tags != nil:
		err = mongoerr.New(mongoerr.NoSuchKey, "No replica set tag key %s in config", w.Tags.First().Key)
	case w.Named() && !w.Majority:
		err = mongoerr.New(mongoerr.UnknownReplWriteConcern,
			"No write concern mode named '%s' found in replica set configuration", w.Mode)
	default:
		return nil
	}
	return err.WithInfo(bsonx.NewDoc("errInfo", bsonx.NewDoc("writeConcern", w.Document("clientSupplied"))))
}

// Document returns the write concern as a document, for error replies and for the stored default.
// If provenance is not empty, the document has it.
func (w *WriteConcern) Document(provenance string) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	switch {
	case w.Tags != nil:
		b.Doc("w", w.Tags)
	case w.Named():
		b.String("w", w.Mode)
	default:
		b.Int32("w", int32(w.W))
	}
	if w.Journal {
		b.Bool("j", true)
	}
	AppendNumber(b, "wtimeout", w.Timeout)
	if provenance != "" {
		b.String("provenance", provenance)
	}
	b.End()
	return b.Bytes()
}

var readPreferenceModes = []string{"primary", "primaryPreferred", "secondary", "secondaryPreferred", "nearest"}

var readPreferenceFields = []Field{
	{Name: "mode", Type: String, Required: true},
	{Name: "tags", Type: Array},
	{Name: "maxStalenessSeconds", Type: SafeInt},
	{Name: "hedge", Type: Object},
}

// setReadPreference checks a read preference and stores its mode. The mode has no other effect,
// because the only member serves all reads.
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
			tags = !v.Doc().IsEmpty() &&
				!(v.Doc().Len() == 1 && v.Doc().Index(0).Type == bsonx.TypeDocument && v.Doc().Index(0).Doc().IsEmpty())
		case "maxStalenessSeconds":
			n := bsonx.SaturatingInt64(v)
			staleness = n > 0
			if n < 0 {
				return mongoerr.New(mongoerr.BadValue, "maxStalenessSeconds value can not be negative")
			}
			if n > 0 && n < 90 {
				return mongoerr.New(mongoerr.MaxStalenessOutOfRange,
					"maxStalenessSeconds value must be at least 90 seconds")
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
