package command

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/plan/explain"
	"github.com/sheafdb/sheaf/internal/table"
)

// Definition describes a command. It is an entry of a table and never changes.
type Definition struct {
	Name string
	// ErrorName is the command's name in errors about its own field. Empty means Name.
	ErrorName string
	Aliases   []string
	Help      string
	Status    feature.Status
	// Run executes the command. It appends the fields of the reply, except ok, to the document that
	// is open in reply.
	Run func(ctx context.Context, req *Request, reply *bsonx.Builder) error
	// Refuse, in place of Run, returns the error of a command that fails on every call, as it does
	// in MongoDB: for example, an Atlas Search command on a server without Atlas Search.
	Refuse func(req *Request) error
	// Explain explains the command for the command explain. It is nil if the command cannot be
	// explained.
	Explain Explainer
	// Lacks names features of the command that fail with NotImplemented. docs/compatibility.md
	// shows this text.
	Lacks string
	// Fields are the command's own arguments, without the generic ones.
	Fields []Field
	// Loose commands ignore unknown fields, like the MongoDB commands whose parser is not generated
	// from its IDL (interface definition language).
	Loose bool
	// Read commands accept every read concern level except snapshot. Commands without Read or
	// Snapshot accept only local.
	Read bool
	// Snapshot commands accept every read concern level.
	Snapshot bool
	// Retryable commands accept a txnNumber outside of a transaction.
	Retryable bool
	// NoAuth commands run before authentication and ignore transaction numbers.
	NoAuth bool
	// Handshake commands begin a connection. A client may send them as a legacy OP_QUERY, and they
	// may contain the name of its application.
	Handshake bool
	// Hidden commands are missing from the reply of listCommands.
	Hidden bool
	// TestOnly commands exist only where test commands are enabled.
	TestOnly bool
	// Parses is true if Run parses statements or stages. If Run cannot parse them, the command does
	// not count as run; see Request.Malformed.
	Parses bool
	Properties
	// Kind is the value of "op" in currentOp. Empty means "command".
	Kind string
	// Counter is the opcounter of serverStatus that a run increments. The zero value is
	// CountCommand.
	Counter Counter
	// Latency is the class of durations in serverStatus and $collStats that counts the command. The
	// zero value is table.LatencyCommands.
	Latency table.LatencyKind
	// Traffic is the column of the command top that counts the command. The zero value is
	// table.TrafficCommands.
	Traffic table.TrafficKind
	// UncountedOperators commands do not count as uses of the operators in their queries, as in
	// MongoDB.
	UncountedOperators bool
	// NoSlowLog commands wait on purpose, so they are never logged as slow.
	NoSlowLog bool
	// OwnMaxTime commands use maxTimeMS for their own purpose. It does not end them.
	OwnMaxTime bool
	// Silent commands reply with only ok if the write concern is w: 0.
	Silent bool
	// TimedRead commands without a maxTimeMS have the time limit of the cluster parameter
	// defaultMaxTimeMS.
	TimedRead bool
	// ByUUID commands accept the UUID of a collection in place of its name.
	ByUUID bool
	// NoUUIDInExplain commands ignore collectionUUID when they are explained, and refuse a UUID in
	// place of the collection's name with a message of their own.
	NoUUIDInExplain bool
	// OnCursors commands continue or close cursors that other commands opened. Their collection is
	// the collection of the cursor, and they need no snapshot.
	OnCursors bool
	// Statement is the kind of the command's statements in error messages. Empty means update or
	// delete, by the statement.
	Statement string
	// CollectionField is the argument that names the collection. Empty means the command's own
	// field.
	CollectionField string
	// InTransaction are the rules of the few commands that transactions treat in a special way.
	InTransaction TransactionRules
	// CommandField is the type of the command's own field, for example Long for getMore. The zero
	// value accepts every type.
	CommandField FieldType
}

// Explainer appends the explanation of the command req to reply. The command does not write, even
// if the verbosity asks for the figures of a run.
type Explainer func(ctx context.Context, req *Request, verbosity explain.Verbosity, reply *bsonx.Builder) error

// AlwaysWrites reports whether the command is a write. A command that only reads unless it has
// $out, $merge or an output collection is not.
func (d *Definition) AlwaysWrites() bool { return d.Writes == feature.Yes && !d.Read }

// Properties say what a command may do. A forgotten property could make a command unsafe, so no
// property has a default: a test fails for a definition in which a property has the zero value.
type Properties struct {
	// Writes says that the command writes and accepts a writeConcern.
	Writes feature.Answer
	// Transactions says that the command may run in a transaction.
	Transactions feature.Answer
	// StableAPI says that version 1 of the stable API has the command.
	StableAPI feature.Answer
	// Expendable says that the command may be ended to free memory. The other commands hold little
	// memory, and some of them free memory or show what holds it.
	Expendable feature.Answer
	// Secret says that the command contains credentials. The body of the command is logged and
	// shown only if Secret has the value No: a definition that does not set Secret counts as
	// secret.
	Secret feature.Answer
	// AdminOnly says that the command runs on the admin database only.
	AdminOnly feature.Answer
}

// Counter identifies an opcounter of serverStatus.
type Counter int

// The opcounters.
const (
	CountCommand Counter = iota
	CountInsert
	CountQuery
	CountUpdate
	CountDelete
	CountGetMore
	CountNone
	counters
)

// Entry is a registered definition with data derived from it and a counter of failures.
type Entry struct {
	*Definition
	Required uint64 // bit set of required Fields
	lengths  []byte // the lengths of the names of Fields: a look-up searches these bytes instead of the table
	Index    int    // position in the table of definitions, and in Tally.Runs
	Failures atomic.Int64
}

// Registry maps names to commands.
type Registry struct {
	ByName map[string]*Entry
	All    []*Entry
}

// maxFields is the largest number of Fields of a definition: the parser has a bit for each.
const maxFields = 64

// newRegistry builds a registry from a table of definitions. A duplicate name or an inconsistent
// definition is an error.
func newRegistry(defs []Definition) (*Registry, error) {
	r := &Registry{ByName: make(map[string]*Entry, len(defs))}
	for i := range defs {
		d := &defs[i]
		if len(d.Fields) > maxFields || d.Status == feature.Supported && (d.Run == nil) == (d.Refuse == nil) {
			return nil, fmt.Errorf("command %s: invalid definition", d.Name)
		}
		e := &Entry{Definition: d, Index: i}
		for j := range d.Fields {
			if d.Fields[j].Required {
				e.Required |= 1 << j
			}
			e.lengths = append(e.lengths, byte(len(d.Fields[j].Name)))
		}
		for _, name := range append([]string{d.Name}, d.Aliases...) {
			if _, twice := r.ByName[name]; twice {
				return nil, fmt.Errorf("command %s is defined twice", name)
			}
			r.ByName[name] = e
		}
		r.All = append(r.All, e)
	}
	slices.SortFunc(r.All, func(a, b *Entry) int { return strings.Compare(a.Name, b.Name) })
	return r, nil
}

// Field returns the index of an argument in Fields, or -1 if the command has no argument with that
// name.
func (e *Entry) Field(key []byte) int {
	if len(key) > math.MaxUint8 {
		return -1
	}
	for i := 0; i < len(e.lengths); i++ {
		next := bytes.IndexByte(e.lengths[i:], byte(len(key)))
		if next < 0 {
			return -1
		}
		if i += next; e.Fields[i].Name == string(key) {
			return i
		}
	}
	return -1
}

// Lookup returns the definition of a command by name or alias, or nil if it does not exist.
func (r *Registry) Lookup(name string) *Definition {
	if e, ok := r.ByName[name]; ok {
		return e.Definition
	}
	return nil
}

// Definitions returns all definitions, sorted by name.
func (r *Registry) Definitions() []*Definition {
	out := make([]*Definition, len(r.All))
	for i, e := range r.All {
		out[i] = e.Definition
	}
	return out
}
