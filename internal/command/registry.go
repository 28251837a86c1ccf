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
)

// Definition describes a command. Definitions are values of a table and never change.
type Definition struct {
	Name string
	// ErrorName is what errors of the command's own field call the command; empty stands for Name.
	ErrorName string
	Aliases   []string
	Help      string
	Status    feature.Status
	// Run executes the command: it appends the reply's fields, without ok, to the open document of
	// reply.
	Run func(ctx context.Context, req *Request, reply *bsonx.Builder) error
	// Refuse stands in the place of Run for a command that a server of this kind answers with an
	// error in any case, as a MongoDB server of this kind does.
	Refuse func(req *Request) error
	// Lacks names what a command that works answers with NotImplemented; docs/compatibility.md
	// shows it.
	Lacks string
	// Fields are the arguments beside the generic ones.
	Fields []Field
	// Loose commands ignore unknown fields, as those MongoDB commands do that are not parsed by its
	// IDL.
	Loose bool
	// AdminOnly commands run on the admin database only.
	AdminOnly bool
	// Read commands accept every read concern level but snapshot; the others accept only local.
	Read bool
	// Snapshot commands accept every read concern level.
	Snapshot bool
	// Retryable commands accept a txnNumber outside a transaction.
	Retryable bool
	// NoAuth commands run before authentication, and take no notice of transaction numbers.
	NoAuth bool
	// Hidden commands are not listed by listCommands.
	Hidden bool
	// TestOnly commands exist only where test commands are enabled.
	TestOnly bool
	// Parses commands parse statements or stages in Run: see Request.malformed.
	Parses bool
	Properties
	// Kind is currentOp's "op"; empty stands for "command".
	Kind string
	// Counter is the serverStatus opcounter that a run adds to; empty stands for "command".
	Counter Counter
	// NoSlowLog commands wait on purpose and are never logged as slow.
	NoSlowLog bool
	// OwnMaxTime commands give maxTimeMS a meaning of their own: it does not end them.
	OwnMaxTime bool
	// Silent commands answer ok and nothing else to w: 0.
	Silent bool
	// TimedRead commands have the time limit of the cluster parameter defaultMaxTimeMS where they
	// bring none.
	TimedRead bool
	// Secret commands carry credentials: their bodies are not logged or shown.
	Secret bool
	// ByUUID commands take the UUID of a collection in place of its name.
	ByUUID bool
	// CommandField replaces the check of the command's own field (getMore: a long). The zero value
	// accepts anything.
	CommandField FieldType
}

// Properties say what a command may do. Safety rests on them, so that none has a default: a test
// refuses a definition in which one has the zero value.
type Properties struct {
	// Writes says that the command writes, and accepts a writeConcern.
	Writes feature.Answer
	// Transactions says that the command may run in a transaction.
	Transactions feature.Answer
	// StableAPI says that version 1 of the stable API has the command.
	StableAPI feature.Answer
}

// Counter names an opcounter of serverStatus.
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

// Entry is a registered definition with what is derived from it and counted.
type Entry struct {
	*Definition
	Required uint64 // bit set of required Fields
	lengths  []byte // of the names of Fields: a look-up reads these instead of the whole table
	Index    int    // in tally.runs
	Failures atomic.Int64
}

// Registry finds commands by name.
type Registry struct {
	ByName map[string]*Entry
	All    []*Entry
}

// maxFields is the number of Fields that the parser's bit sets hold.
const maxFields = 64

// newRegistry indexes a table of definitions. A name that stands twice is an error.
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

// Field returns the position of an argument among Fields, -1 where it is none.
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

// Lookup returns the definition of a command or alias, or nil.
func (r *Registry) Lookup(name string) *Definition {
	if e, ok := r.ByName[name]; ok {
		return e.Definition
	}
	return nil
}

// Definitions returns all definitions in order of name.
func (r *Registry) Definitions() []*Definition {
	out := make([]*Definition, len(r.All))
	for i, e := range r.All {
		out[i] = e.Definition
	}
	return out
}

// IsHello reports whether d is hello or isMaster.
func IsHello(d *Definition) bool { return d.Name == "hello" || d.Name == "isMaster" }

// EndsTransaction tells the commands that commit and abort from those that transactions are made
// of.
func EndsTransaction(d *Definition) bool {
	return d.Name == "commitTransaction" || d.Name == "abortTransaction" || d.Name == "coordinateCommitTransaction"
}
