package parsing

// The optional interfaces of a Stage, which the optimiser asks for. A stage without one is left
// where it stands.

// Reader is a stage that tells what it reads of its documents. Any other stage reads all of them.
type Reader interface {
	Needs(n *Needs)
}

// Narrower is a stage that copies its documents and can leave out fields that nobody reads.
type Narrower interface {
	// Narrow returns the stage that keeps some top-level fields of its results, and may drop all
	// others.
	Narrow(fields []string) Stage
}

// PerDocument is a stage that makes of each document what it would make of it alone, so that
// several goroutines may run it.
type PerDocument interface {
	IsPerDocument() bool
}

// OneToOne is a stage that may give one document for each of its input, in the same order.
type OneToOne interface {
	IsOneToOne() bool
}

// Changer is a stage that passes documents on with some top-level fields changed.
type Changer interface {
	// Changes returns the fields. If drops is true the stage may give none of a document. If ok is
	// false the stage has no fields to name.
	Changes() (fields []string, drops, ok bool)
}

// Budgeted is a stage with the memory limit of another one.
type Budgeted interface {
	// BudgetOf returns the name of the stage that has the limit.
	BudgetOf() string
}
