package query

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/describe"
)

// Refused is an error that was found before the query ran. In MongoDB, the messages of other errors
// say that they came from the executor.
type Refused struct{ err error }

// NewRefused marks an error that was found before the query ran.
func NewRefused(err error) *Refused { return &Refused{err} }

// Error implements error.
func (r *Refused) Error() string { return r.err.Error() }

// Unwrap returns the marked error.
func (r *Refused) Unwrap() error { return r.err }

// CannotPlanPrefix is the prefix of the message for a query that no plan can answer.
const CannotPlanPrefix = "error processing query: planner returned error :: caused by :: "

// Refuse marks an error of planning as Refused. It adds a description of the query to the message
// if MongoDB does.
func Refuse(q *Query, err error) error {
	var e *mongoerr.Error
	if errors.As(err, &e) && strings.HasPrefix(e.Message, CannotPlanPrefix) {
		clone := *e
		clone.Message = "error processing query: " + describeQuery(q) + " " + strings.TrimPrefix(e.Message,
			"error processing query: ")
		err = &clone
	}
	return &Refused{err}
}

// CheckTailable fails if the query is tailable and the collection is not capped.
func (q *Query) CheckTailable() error {
	if !q.Tailable || q.Coll == nil || q.Coll.Capped != nil {
		return nil
	}
	return mongoerr.New(mongoerr.BadValue,
		"error processing query: %s tailable cursor requested on non capped collection", describeQuery(q))
}

// describeQuery describes a query as MongoDB does: namespace, tree of predicates, sort, projection
// and collation.
func describeQuery(q *Query) string {
	var out strings.Builder
	fmt.Fprintf(&out, "ns=%s.%s", q.DB, q.Name)
	if q.Limit > 0 {
		fmt.Fprintf(&out, " limit=%d", q.Limit)
	}
	if q.Skip > 0 {
		fmt.Fprintf(&out, " skip=%d", q.Skip)
	}
	out.WriteString("Tree: ")
	if q.Filter == nil {
		out.WriteString("$and\n")
	} else {
		out.WriteString(describe.Filter(q.Filter.Normalize().Root))
	}
	text := out.String()
	if len(text) > describe.MaxDescribed {
		text = text[:describe.MaxDescribed] + "…\n"
	}
	text += "Sort: " + describe.Shell(q.Sort) + "\nProj: " + describe.Shell(q.ProjectionSpec) + "\n"
	if !q.CollationSpec.IsEmpty() {
		text += "Collation: " + describe.Shell(q.CollationSpec) + "\n"
	}
	return text
}

// NoTextIndex returns the error for a text search in a collection that does not exist. Callers do
// not use it for a count, which returns 0.
func NoTextIndex(namespace string) error {
	return mongoerr.New(mongoerr.IndexNotFound, "text index required for $text query (no such collection '%s')",
		namespace)
}

// CannotPlan returns the error for a query that no plan can answer.
func CannotPlan(why string) error {
	return mongoerr.New(mongoerr.NoQueryExecutionPlans,
		"error processing query: planner returned error :: caused by :: %s", why)
}
