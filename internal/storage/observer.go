package storage

// PlanKey is the key by which a context tells who wants to know what runs in it: a PlanObserver.
type PlanKey struct{}

// PlanObserver is told which plan an operation runs, as soon as it is chosen.
type PlanObserver interface {
	Planned(plan interface{ Summary() string })
}
