package filter

import (
	"time"

	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
)

// Options say in which context a filter is parsed. The zero Options allow neither $expr, $where nor
// $text.
type Options struct {
	// Vars is the scope of $expr: the command's `let`.
	Vars *expr.Vars
	// Now is the command's time, for $$NOW.
	Now time.Time
	// AllowExpr allows $expr.
	AllowExpr bool
	// Upsert is set for the query of an upsert; messages say so.
	Upsert bool
	// AllowWhere allows $where.
	AllowWhere bool
	// AllowText allows $text.
	AllowText bool
	// RefuseSchema refuses $jsonSchema.
	RefuseSchema bool
	// AllowGeoNear allows $near and $nearSphere.
	AllowGeoNear bool
	// Validator refuses, within $expr, what must not stand in a collection's validator: $rand and
	// $function.
	Validator bool
	// Collation compares strings; nil compares bytes.
	Collation *collation.Collator
	// Random returns numbers in [0, 1) for $sampleRate; nil means the process's generator.
	Random func() float64
	// JSTimeout bounds one call of a $where function; zero means js.DefaultTimeout.
	JSTimeout time.Duration
	// Stage says that the filter is a stage of a pipeline, and no query: see expr.Failures.Copied.
	Stage bool
	// Borrow lets the filter refer to the bytes of the document, which must not change as long as
	// it is used. Without it Parse makes a copy.
	Borrow bool
}

// FindOptions are the options of find, count, distinct, update and delete: everything is allowed.
func FindOptions(vars *expr.Vars, now time.Time) Options {
	return Options{Vars: vars, Now: now, AllowExpr: true, AllowWhere: true, AllowText: true, AllowGeoNear: true}
}
