package filter

import (
	"time"

	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
)

// Options describe the context of a filter. The zero Options do not allow $expr, $where or $text.
type Options struct {
	// Vars is the scope of $expr: the command's `let`.
	Vars *expr.Vars
	// Now is the command's time, for $$NOW.
	Now time.Time
	// AllowExpr allows $expr.
	AllowExpr bool
	// Upsert is set for the query of an upsert. It changes messages.
	Upsert bool
	// AllowWhere allows $where.
	AllowWhere bool
	// AllowText allows $text.
	AllowText bool
	// RefuseSchema refuses $jsonSchema.
	RefuseSchema bool
	// AllowGeoNear allows $near and $nearSphere.
	AllowGeoNear bool
	// Validator rejects expressions in $expr that a collection's validator must not have: $rand and
	// $function.
	Validator bool
	// Collation compares strings. A nil Collation compares bytes.
	Collation *collation.Collator
	// Random returns numbers in [0, 1) for $sampleRate. Nil means the process's generator.
	Random func() float64
	// JSTimeout limits the time for one call of a $where function. Zero means js.DefaultTimeout.
	JSTimeout time.Duration
	// Stage means that the filter is a pipeline stage and not a query: see expr.Failures.Copied.
	Stage bool
	// Borrow lets the filter refer to the bytes of the document, which must not change while the
	// filter is used. Without Borrow, Parse makes a copy.
	Borrow bool
}

// FindOptions returns the options of find, count, distinct, update and delete, which allow all
// operators.
func FindOptions(vars *expr.Vars, now time.Time) Options {
	return Options{Vars: vars, Now: now, AllowExpr: true, AllowWhere: true, AllowText: true, AllowGeoNear: true}
}
