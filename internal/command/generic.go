package command

import (
	"bytes"
	"errors"
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/session"
	"github.com/sheafdb/sheaf/internal/storage"
)

// Generic holds the arguments that every command accepts. Its values refer to the request's bytes.
type Generic struct {
	// Comment is shown in logs and currentOp; it may have any type.
	Comment bsonx.Value
	// MaxTimeMillis is maxTimeMS; 0 means no limit.
	MaxTimeMillis int64
	HasMaxTime    bool
	ReadConcern   ReadConcern
	WriteConcern  WriteConcern
	// ReadPreference is the mode, or "primary" if the request has none.
	ReadPreference string

	SessionID      session.SessionID
	HasSession     bool
	TxnNumber      int64
	HasTxnNumber   bool
	Autocommit     OptionalFlag
	StartTxn       OptionalFlag
	ClusterTime    storage.Stamp
	APIVersion     string
	APIStrict      OptionalFlag
	APIDeprecation OptionalFlag
}

// OptionalFlag is a boolean argument that may be absent.
type OptionalFlag byte

// The values of an OptionalFlag.
const (
	BoolAbsent OptionalFlag = iota
	BoolFalse
	BoolTrue
)

// String returns "true", "false", or "" if the argument is absent.
func (b OptionalFlag) String() string { return [...]string{"", "false", "true"}[b] }

func optional(b bool) OptionalFlag {
	if b {
		return BoolTrue
	}
	return BoolFalse
}

// GenericField is an argument that every command accepts.
type GenericField struct {
	Name string
	Typ  FieldType
	// Set parses the value. It is nil for arguments whose type is checked and whose value has no
	// effect here, because they are meant for mongos, auditing or drivers.
	Set func(g *Generic, cmd string, v bsonx.Value) error
}

// GenericTable lists all generic arguments. Their order hardly affects the speed of a look-up,
// because FindGeneric compares lengths first.
var GenericTable = []GenericField{
	{"$db", Any, nil}, // parsed separately, before all others
	{"lsid", Object, setSession},
	{"$clusterTime", Object, setClusterTime},
	{"txnNumber", Long, func(g *Generic, _ string, v bsonx.Value) error {
		g.TxnNumber, g.HasTxnNumber = v.Int64(), true
		return nil
	}},
	{"maxTimeMS", SafeInt, setMaxTime},
	{"readConcern", Object, setReadConcern},
	{"writeConcern", Object, setWriteConcern},
	{"$readPreference", Object, setReadPreference},
	{"comment", Any, func(g *Generic, _ string, v bsonx.Value) error { g.Comment = v; return nil }},
	{"autocommit", Bool, func(g *Generic, _ string, v bsonx.Value) error {
		g.Autocommit = optional(v.Bool())
		return nil
	}},
	{
		"startTransaction", Bool,
		func(g *Generic, _ string, v bsonx.Value) error { g.StartTxn = optional(v.Bool()); return nil },
	},
	{"apiVersion", String, func(g *Generic, _ string, v bsonx.Value) error { g.APIVersion = v.Str(); return nil }},
	{"apiStrict", Bool, func(g *Generic, _ string, v bsonx.Value) error {
		g.APIStrict = optional(v.Truthy())
		return nil
	}},
	{"apiDeprecationErrors", Bool, func(g *Generic, _ string, v bsonx.Value) error {
		g.APIDeprecation = optional(v.Truthy())
		return nil
	}},
	{"maxTimeMSOpOnly", SafeInt, nil},
	{"helloOk", SafeBool, nil},
	{"$client", Object, nil},
	{"$audit", Object, nil},
	{"$configServerState", Object, nil},
	{"$configTime", Timestamp, nil},
	{"$topologyTime", Timestamp, nil},
	{"$replData", Any, nil},
	{"$oplogQueryData", Any, nil},
	{"$queryOptions", Object, nil},
	{"$impersonatedUsers", Any, nil},
	{"$impersonatedRoles", Any, nil},
	{"databaseVersion", Object, nil},
	{"shardVersion", Any, nil},
	{"allowImplicitCollectionCreation", SafeBool, nil},
	{"coordinator", Bool, nil},
	{"tracking_info", Object, nil},
	{"mayBypassWriteBlocking", Bool, nil},
	{"clientOperationKey", BinData, nil},
	{"requestGossipRoutingCache", Array, nil},
	{"rawData", SafeBool, nil},
	{"traceCtx", Object, nil},
	{"help", Bool, func(_ *Generic, _ string, v bsonx.Value) error {
		if v.Bool() {
			return ErrHelp
		}
		return nil
	}},
}

// ErrHelp ends the parsing of a command that has help: true. The reply then describes the command.
var ErrHelp = errors.New("help is wanted")

// GenericFields returns the generic arguments as Fields.
func GenericFields() []Field {
	within := map[string][]Field{
		"lsid": SessionFields, "readConcern": readConcernFields, "writeConcern": writeConcernFields,
		"$readPreference": readPreferenceFields,
	}
	fields := make([]Field, len(GenericTable))
	for i, g := range GenericTable {
		fields[i] = Field{Name: g.Name, Type: g.Typ, Fields: within[g.Name]}
	}
	return fields
}

// genericLengths are the lengths of the names in GenericTable. FindGeneric searches these bytes
// instead of the table, as Entry.Field does.
var genericLengths = func() (lengths []byte) {
	for i := range GenericTable {
		lengths = append(lengths, byte(len(GenericTable[i].Name)))
	}
	return lengths
}()

// FindGeneric returns the index of a generic argument in GenericTable, or -1 if there is no
// argument of that name.
func FindGeneric(key []byte) int {
	if len(key) > math.MaxUint8 {
		return -1
	}
	for i := 0; i < len(genericLengths); i++ {
		next := bytes.IndexByte(genericLengths[i:], byte(len(key)))
		if next < 0 {
			return -1
		}
		if i += next; GenericTable[i].Name == string(key) {
			return i
		}
	}
	return -1
}

// notAnInteger returns the error for a number that is not a 64-bit integer.
func notAnInteger(name string, v bsonx.Value) error {
	reason := "Expected an integer"
	switch f, _ := v.AsFloat64(); {
	case v.Type == bsonx.TypeDecimal128 || math.Abs(f) >= 1<<63:
		reason = "Cannot represent as a 64-bit integer"
	case math.IsNaN(f):
		reason = "Expected an integer, but found NaN in"
	}
	return mongoerr.New(mongoerr.FailedToParse, "%s: %s: %s", reason, name, bsonx.FormatShell(v))
}

func setMaxTime(g *Generic, cmd string, v bsonx.Value) error {
	n, ok := v.AsExactInt64()
	if !ok {
		return notAnInteger("maxTimeMS", v)
	}
	if err := Between(0, limits.TimeMillis)("maxTimeMS", bsonx.Int64(n)); err != nil {
		return err
	}
	g.MaxTimeMillis, g.HasMaxTime = n, true
	return nil
}

// SessionFields are the fields of an lsid document.
var SessionFields = []Field{
	{Name: "id", Type: BinData, Required: true},
	{Name: "uid", Type: BinData},
	{Name: "txnNumber", Type: Long},
	{Name: "txnUUID", Type: BinData},
}

func setSession(g *Generic, cmd string, v bsonx.Value) error {
	if id, ok := plainSessionID(v.Doc()); ok {
		g.SessionID, g.HasSession = id, true
		return nil
	}
	id, err := ParseSessionID(cmd+".lsid", v.Doc())
	g.SessionID, g.HasSession = id, err == nil
	return err
}

// plainSessionID parses {id: UUID}, the form of lsid that drivers send. It returns false for any
// other document.
func plainSessionID(doc bsonx.Doc) (id session.SessionID, ok bool) {
	it := doc.Iter()
	if !it.Next() || string(it.Key()) != "id" || it.Value().Type != bsonx.TypeBinary {
		return id, false
	}
	subtype, data := it.Value().Binary()
	if subtype != bsonx.UUIDSubtype || len(data) != len(id.UUID) || it.Next() {
		return id, false
	}
	copy(id.UUID[:], data)
	return id, true
}

// ParseSessionID parses a session id in the format of lsid. path names the document in errors.
func ParseSessionID(path string, doc bsonx.Doc) (session.SessionID, error) {
	var id session.SessionID
	err := ParseFields(path, doc, SessionFields, func(i int, v bsonx.Value) error {
		name := SessionFields[i].Name
		switch name {
		case "id":
			subtype, data := v.Binary()
			if subtype != bsonx.UUIDSubtype {
				return mongoerr.New(mongoerr.TypeMismatch,
					"BSON field '%s.id' is the wrong binData type '%s', expected type 'UUID'", path, binaryName(subtype))
			}
			if len(data) != len(id.UUID) {
				return mongoerr.New(mongoerr.InvalidUUID, "uuid must be a 16-byte binary field with UUID (4) subtype")
			}
			copy(id.UUID[:], data)
			return nil
		case "uid":
			_, data := v.Binary()
			if len(data) != len(id.User) {
				return mongoerr.New(mongoerr.UnsupportedFormat, "Unsupported SHA256Block hash length: %d", len(data))
			}
			copy(id.User[:], data)
			return nil
		default:
			return mongoerr.New(mongoerr.InvalidOptions, "Internal sessions are not supported: %s.%s", path, name)
		}
	})
	return id, err
}

func binaryName(subtype byte) string {
	names := []string{
		"general", "function", "binary", "UUID (old)", "UUID", "MD5", "encrypt",
		"column", "sensitive", "vector",
	}
	if int(subtype) < len(names) {
		return names[subtype]
	}
	return "user defined"
}

// InTransaction reports whether the command belongs to a multi-document transaction.
func (g *Generic) InTransaction() bool { return g.HasTxnNumber && g.Autocommit != BoolAbsent }
