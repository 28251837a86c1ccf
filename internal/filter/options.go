package filter

import (
	"time"

	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
)

// Options describes the context of a filter. The zero Options do not allow $expr, $where or $text.
type Options struct {
	// Vars is the scope of $expr, with the variables of the command's `let`.
	Vars *expr.Vars
	// Now is the value of $$NOW.
	Now time.Time
	// AllowExpr allows $expr.
	AllowExpr bool
	// Upsert reports that the filter is the query of an upsert, which changes error messages.
	Upsert bool
	// AllowWhere allows $where.
	AllowWhere bool
	// AllowText allows $text.
	AllowText bool
	// RefuseSchema rejects $jsonSchema.
	RefuseSchema bool
	// AllowGeoNear allows $near and $nearSphere.
	AllowGeoNear bool
	// Validator rejects expressions in $expr that a collection's validator must not have: $rand and
	// $function.
	Validator bool
	// Collation compares strings; nil means binary comparison.
	Collation *collation.Collator
	// Random returns numbers in [0, 1) for $sampleRate. Nil means the random generator of the
	// process.
	Random func() float64
	// JSTimeout is the time limit for one call of a $where function. Zero means js.DefaultTimeout.
	JSTimeout time.Duration
	// Stage reports that the filter is a pipeline stage and not a query: see expr.Failures.Copied.
	Stage bool
	// Borrow lets the filter refer to the bytes of the filter document, which must not change while
	// the filter is in use. Without Borrow, Parse copies the document.
	Borrow bool
}

// FindOptions returns the options of find, count, distinct, update and delete, which allow all
// operators.
func FindOptions(vars *expr.Vars, now time.Time) Options {
	return Options{Vars: vars, Now: now, AllowExpr: true, AllowWhere: true, AllowText: true, AllowGeoNear: true}
}
