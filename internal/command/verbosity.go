package command

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/param"
)

// logComponents are the log components whose verbosity can be set, with MongoDB's names. A log
// record names its component in the attribute c, in capitals.
var logComponents = []string{
	"accessControl", "command", "control", "executor", "geo", "index", "network", "query",
	"replication", "sharding", "storage",
	"write", "ftdc", "transaction",
}

const (
	maxVerbosity = 5
	// inherited is the verbosity of a component that uses the general verbosity.
	inherited = -1
)

// Verbosity holds the parameters logLevel and logComponentVerbosity, which turn on debug records of
// the log. It is safe for concurrent use. A nil Verbosity is 0 for every component.
type Verbosity struct {
	general    atomic.Int64
	components []atomic.Int64 // in the order of logComponents
	// any is the greatest verbosity of all. If it is 0, a record needs no further check.
	any atomic.Int64
}

// NewVerbosity returns a Verbosity that is 0 for every component.
func NewVerbosity() *Verbosity {
	v := &Verbosity{components: make([]atomic.Int64, len(logComponents))}
	for i := range v.components {
		v.components[i].Store(inherited)
	}
	return v
}

// Of returns the verbosity of a component. It ignores the case of the name. An unknown component
// has the general verbosity.
func (v *Verbosity) Of(component string) int64 {
	if v == nil || v.any.Load() == 0 {
		return 0
	}
	for i, name := range logComponents {
		if strings.EqualFold(name, component) {
			if n := v.components[i].Load(); n != inherited {
				return n
			}
			break
		}
	}
	return v.general.Load()
}

// settle updates any after a change of a verbosity.
func (v *Verbosity) settle() {
	most := v.general.Load()
	for i := range v.components {
		most = max(most, v.components[i].Load())
	}
	v.any.Store(most)
}

// Handler returns a handler that also passes debug records to the handler to, if their component
// has a verbosity over 0.
func (v *Verbosity) Handler(to slog.Handler) slog.Handler {
	return &verboseHandler{Handler: to, verbosity: v}
}

type verboseHandler struct {
	slog.Handler
	verbosity *Verbosity
	component string
}

// Enabled implements slog.Handler.
func (h *verboseHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.verbosity.any.Load() > 0 && level >= slog.LevelDebug || h.Handler.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h *verboseHandler) Handle(ctx context.Context, r slog.Record) error {
	if !h.Handler.Enabled(ctx, r.Level) {
		component := h.component
		r.Attrs(func(a slog.Attr) bool {
			if a.Key == "c" {
				component = a.Value.String()
			}
			return true
		})
		if h.verbosity.Of(component) == 0 {
			return nil
		}
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h *verboseHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	component := h.component
	for _, a := range attrs {
		if a.Key == "c" {
			component = a.Value.String()
		}
	}
	return &verboseHandler{h.Handler.WithAttrs(attrs), h.verbosity, component}
}

// WithGroup implements slog.Handler.
func (h *verboseHandler) WithGroup(name string) slog.Handler {
	return &verboseHandler{h.Handler.WithGroup(name), h.verbosity, h.component}
}

// params returns the parameters that set the verbosity.
func (v *Verbosity) params() []param.Param {
	return []param.Param{
		{
			Name: "logLevel",
			Get:  func() bsonx.Value { return bsonx.Int32(int32(v.general.Load())) },
			Set: func(value bsonx.Value) error {
				n, err := param.Coerced("logLevel", value)
				if err != nil || n < 0 || n > maxVerbosity {
					return mongoerr.New(mongoerr.BadValue,
						"Invalid value for logLevel: logLevel: %s", bsonx.FormatShell(value))
				}
				v.general.Store(n)
				v.settle()
				return nil
			},
		},
		{Name: "logComponentVerbosity", Get: v.Document, Set: v.set},
	}
}

func verbosityOf(name string, v bsonx.Value, least int64) (int64, error) {
	if !v.Type.IsNumber() {
		return 0, mongoerr.New(mongoerr.BadValue, "Failed validating %s: Unable to coerce value to integral type", name)
	}
	n := bsonx.SaturatingInt64(v)
	if n < least || n > maxVerbosity {
		return 0, mongoerr.New(mongoerr.BadValue, "Invalid value for %s: %s; it must be a number from %d to %d",
			name, bsonx.FormatShell(v), least, maxVerbosity)
	}
	return n, nil
}

// Document returns the verbosities in the format of getParameter.
func (v *Verbosity) Document() bsonx.Value {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.Int32("verbosity", int32(v.general.Load()))
	for i, name := range logComponents {
		b.Doc(name, bsonx.NewDoc("verbosity", int32(v.components[i].Load())))
	}
	b.End()
	return bsonx.Document(b.Bytes())
}

// set changes the verbosities that a document names. If one of them is invalid, it changes none.
func (v *Verbosity) set(value bsonx.Value) error {
	if value.Type != bsonx.TypeDocument {
		return mongoerr.New(mongoerr.TypeMismatch,
			"log component verbosity is not a document: %s", bsonx.FormatShell(value))
	}
	type change struct {
		to *atomic.Int64
		n  int64
	}
	var changes []change
	for it := value.Doc().Iter(); it.Next(); {
		name, e := string(it.Key()), it.Value()
		to, least := v.named(name), int64(inherited)
		switch {
		case to == nil:
			return mongoerr.New(mongoerr.BadValue, "Invalid component name %s", name)
		case name == "verbosity":
			least = 0
		case e.Type == bsonx.TypeDocument:
			if e = e.Doc().Lookup("verbosity"); e.IsMissing() {
				continue
			}
		}
		n, err := verbosityOf("verbosity", e, least)
		if err != nil {
			return err
		}
		changes = append(changes, change{to, n})
	}
	for _, c := range changes {
		c.to.Store(c.n)
	}
	v.settle()
	return nil
}

func (v *Verbosity) named(name string) *atomic.Int64 {
	if name == "verbosity" {
		return &v.general
	}
	for i, known := range logComponents {
		if known == name {
			return &v.components[i]
		}
	}
	return nil
}
