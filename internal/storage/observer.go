package storage

import "context"

// PlanKey is the context key of the PlanObserver that wants to know which plans run under the
// context.
type PlanKey struct{}

// PlanObserver is told which plan an operation runs, as soon as it is chosen.
type PlanObserver interface {
	Planned(plan interface{ Summary() string })
	// Worked reports the work that a plan did since it was chosen, or since the last call. The
	// operation's goroutine calls it.
	Worked(w PlanWork)
}

// PlanWork is the work that a plan did.
type PlanWork struct {
	Keys, Docs int64 // examined by the plan
	// Sorts means that the plan sorts in memory. Spilled means that the sort did not fit into
	// memory. FromCache means that the plan came from the plan cache.
	Sorts, Spilled, FromCache bool
	// Conflicts is the number of times that a write was retried because of a write conflict.
	Conflicts int64
}

// ReportWork reports work that was done without a plan to the observer of the context. Without an
// observer it does nothing.
func ReportWork(ctx context.Context, w PlanWork) {
	if o, ok := ctx.Value(PlanKey{}).(PlanObserver); ok {
		o.Worked(w)
	}
}

// pointPlan is the plan of a statement that selects one _id. Such a statement needs no planning.
type pointPlan struct{}

// Summary returns the name that MongoDB uses for this plan.
func (pointPlan) Summary() string { return "IDHACK" }

// ReportPoint reports a pointPlan that found found documents to the observer of the context, if
// there is one.
func ReportPoint(ctx context.Context, found int64) {
	if o, ok := ctx.Value(PlanKey{}).(PlanObserver); ok {
		o.Planned(pointPlan{})
		o.Worked(PlanWork{Docs: found})
	}
}
