package storage

import "context"

// PlanKey is the key by which a context tells who wants to know what runs in it: a PlanObserver.
type PlanKey struct{}

// PlanObserver is told which plan an operation runs, as soon as it is chosen.
type PlanObserver interface {
	Planned(plan interface{ Summary() string })
	// Worked tells what a plan did since it was chosen, or since the last call. It is called by the
	// operation's goroutine.
	Worked(w PlanWork)
}

// PlanWork is what a plan did.
type PlanWork struct {
	Keys, Docs int64 // examined
	// Sorts says that the plan sorts in memory, Spilled that the sort did not fit, FromCache that a
	// cached plan was taken.
	Sorts, Spilled, FromCache bool
	// Conflicts is how often a write began again because of another one.
	Conflicts int64
}

// ReportWork reports work that no plan did to the observer of the context. Without an observer it
// does nothing.
func ReportWork(ctx context.Context, w PlanWork) {
	if o, ok := ctx.Value(PlanKey{}).(PlanObserver); ok {
		o.Worked(w)
	}
}

// PointPlan is the plan of a statement about one _id, which needs no planning.
type PointPlan struct{}

// Summary describes it as MongoDB does.
func (PointPlan) Summary() string { return "IDHACK" }

// ReportPoint tells the context's observer, if it has one, of a PointPlan that found so many
// documents.
func ReportPoint(ctx context.Context, found int64) {
	if o, ok := ctx.Value(PlanKey{}).(PlanObserver); ok {
		o.Planned(PointPlan{})
		o.Worked(PlanWork{Docs: found})
	}
}
