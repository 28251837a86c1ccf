package ddl

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/js"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/oplog"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

// The valid values of validationLevel and validationAction.
var (
	validationLevels  = []string{"off", "moderate", "strict"}
	validationActions = []string{"error", "warn"}
)

// checkValidation checks the validator and its options in create and collMod.
func checkValidation(req *command.Request) error {
	if err := checkValidationNames(req); err != nil {
		return err
	}
	if doc := req.Doc("validator"); doc != nil {
		if !doc.IsEmpty() && catalog.IsInternalDatabase(req.DB) {
			return mongoerr.New(mongoerr.InvalidOptions, "Document validators are not allowed on collection %s.%s in the %s internal database",
				req.DB, req.CommandValue().Str(), req.DB)
		}
		var order *storage.Order
		if req.Service.Replicates() {
			order = req.Service.Order
		}
		vars := validatorVars(nil, req.BaseVars().Scripts().Running, order)
		if req.Generic.APIStrict == command.BoolTrue {
			vars = vars.WithStableAPI()
		}
		_, err := parseValidator(doc, nil, vars)
		return err
	}
	return nil
}

// checkValidationNames checks the values of validationLevel and validationAction.
func checkValidationNames(req *command.Request) error {
	if level := req.Get("validationLevel"); !level.IsMissing() && !slices.Contains(validationLevels, level.Str()) {
		return badEnum(req, "validationLevel", level)
	}
	if action := req.Get("validationAction"); !action.IsMissing() && !slices.Contains(validationActions, action.Str()) {
		return badEnum(req, "validationAction", action)
	}
	return nil
}

func badEnum(req *command.Request, field string, v bsonx.Value) error {
	return mongoerr.New(mongoerr.BadValue, "Enumeration value '%s' for field '%s.%s' is not a valid value.", v.Str(), req.Def.Name, field)
}

// validatorVars returns the scope of a validator's expressions. running, which may be nil, is the
// operation that can be interrupted. If order is nil, $$CLUSTER_TIME is an error.
func validatorVars(co *collation.Collator, running *interrupt.Running, order *storage.Order) *expr.Vars {
	vars := expressions.Scope().WithScripts(js.Options{Running: running})
	if order != nil {
		vars = vars.WithClusterTime(func() bsonx.Value { return oplog.Timestamp(order.Visible()) })
	}
	return vars.WithCollation(co)
}

func parseValidator(doc bsonx.Doc, co *collation.Collator, vars *expr.Vars) (*filter.Filter, error) {
	return filter.Parse(doc, filter.Options{AllowExpr: true, Validator: true, Collation: co, Vars: vars})
}

// Compiler compiles the filters in the catalog: validators and the filters of partial indexes. A
// table.Store is opened with one.
type Compiler struct {
	// Warn is called with the error of each document that a validator with the action "warn" does
	// not accept. It may be nil.
	Warn func(err error)
	// Order provides $$CLUSTER_TIME. If it is nil, a validator that uses $$CLUSTER_TIME does not
	// compile.
	Order *storage.Order
	// Clock provides $$NOW. If it is nil, it is the computer's clock.
	Clock clock.Clock
}

// Partial implements table.Compiler.
func (Compiler) Partial(doc bsonx.Doc, co *collation.Collator) (table.Predicate, error) {
	return filter.Parse(doc, filter.Options{Collation: co})
}

// Validator implements table.Compiler.
func (c Compiler) Validator(options bsonx.Doc, co *collation.Collator) (table.Validator, error) {
	doc := options.Lookup("validator")
	level := options.Lookup("validationLevel")
	if doc.Type != bsonx.TypeDocument || doc.Doc().IsEmpty() || level.Type == bsonx.TypeString && level.Str() == "off" {
		return nil, nil
	}
	spec := doc.Doc().Clone()
	v := &validator{
		spec: spec, collation: co, order: c.Order, clock: clock.OrSystem(c.Clock),
		moderate: level.Type == bsonx.TypeString && level.Str() == "moderate",
		timed:    bytes.Contains(spec, []byte("$$NOW")), stamped: bytes.Contains(spec, []byte("$$CLUSTER_TIME")),
	}
	f, err := v.compile()
	if err != nil {
		return nil, err
	}
	v.give(f)
	if action := options.Lookup("validationAction"); action.Type == bsonx.TypeString && action.Str() == "warn" {
		v.warn = c.Warn
		if v.warn == nil {
			v.warn = func(error) {}
		}
	}
	return v, nil
}

// validator checks documents against the validator of a collection.
type validator struct {
	spec      bsonx.Doc
	collation *collation.Collator
	order     *storage.Order
	clock     clock.Clock
	// filters holds compiled filters. Only one operation at a time may use a filter.
	filters sync.Pool
	// moderate allows an update of an invalid document that leaves it invalid.
	moderate bool
	// timed is true if the spec may use $$NOW.
	timed bool
	// stamped is true if the spec may use $$CLUSTER_TIME. Its value is fixed at compilation, so
	// every check compiles the spec again.
	stamped bool
	warn    func(error)
}

// Accepts implements table.Validator.
func (v *validator) Accepts(doc bsonx.Doc) bool {
	f, err := v.take()
	if err != nil {
		return false
	}
	defer v.give(f)
	ok, err := v.now(f.filter).Match(doc)
	return ok && err == nil
}

// Check implements table.Validator.
func (v *validator) Check(ctx context.Context, old, doc bsonx.Doc) error {
	f, err := v.take()
	if err != nil {
		return err
	}
	f.running.Set(ctx)
	err = v.check(v.now(f.filter), old, doc)
	ended := f.running.Err()
	f.running = interrupt.Running{}
	v.give(f)
	return cmp.Or(ended, err)
}

// now returns f with $$NOW set to the current time.
func (v *validator) now(f *filter.Filter) *filter.Filter {
	if !v.timed {
		return f
	}
	return f.At(v.clock.Now())
}

// take returns a compiled filter that no other operation uses.
func (v *validator) take() (*servingFilter, error) {
	if f, ok := v.filters.Get().(*servingFilter); ok {
		return f, nil
	}
	return v.compile()
}

// give puts a filter back for the next operation. A stamped filter is dropped, because its
// $$CLUSTER_TIME is outdated.
func (v *validator) give(f *servingFilter) {
	if !v.stamped {
		v.filters.Put(f)
	}
}

// servingFilter is a filter with the operation that it runs for. If the operation ends, the filter
// stops.
type servingFilter struct {
	filter  *filter.Filter
	running interrupt.Running
}

func (v *validator) compile() (*servingFilter, error) {
	f := &servingFilter{}
	var err error
	f.filter, err = parseValidator(v.spec, v.collation, validatorVars(v.collation, &f.running, v.order))
	return f, err
}

func (v *validator) check(f *filter.Filter, old, doc bsonx.Doc) error {
	ok, err := f.Match(doc)
	if err == nil && ok {
		return nil
	}
	if v.moderate && old != nil {
		if was, err := f.Match(old); err == nil && !was {
			return nil
		}
	}
	// A document on which an expression fails is invalid.
	err = failedValidation(f, doc)
	if v.warn != nil {
		v.warn(err)
		return nil
	}
	return err
}

// failedValidation returns the error for a document that the validator does not accept. If the
// details would be too large, it leaves out the validator and the values; if that is not enough, it
// leaves out the details.
func failedValidation(f *filter.Filter, doc bsonx.Doc) error {
	info := bsonx.NewDoc("failingDocumentId", doc.Lookup("_id"))
	room := func() int { return limits.ValidationInfoBytes - len(info.With("details", bsonx.Int32(0))) + 4 }
	details := f.Explain121(doc, false, room())
	if details == nil {
		info = info.With("truncated", bsonx.True)
		details = f.Explain121(doc, true, room())
	}
	if details != nil {
		info = info.With("details", bsonx.Document(details))
	} else {
		info = bsonx.NewDoc("failingDocumentId", doc.Lookup("_id"), "note", "detailed error was too large")
	}
	return mongoerr.New(mongoerr.DocumentValidationFailure, "Document failed validation").
		WithInfo(bsonx.NewDoc("errInfo", info))
}
