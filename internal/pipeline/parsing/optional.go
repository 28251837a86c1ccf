package parsing

// Optional interfaces of a Stage. They tell the optimiser how it may treat the stage. If a stage
// does not implement an interface, the optimiser assumes that the stage does not have this
// property.

// Reader is a Stage that tells which fields it reads. The optimiser assumes that other stages read
// the whole document.
type Reader interface {
	Needs(n *Needs)
}

// Narrower is a Stage that copies its documents and can leave out fields that later stages do not
// read.
type Narrower interface {
	// Narrow returns a copy of the stage that keeps the given top-level fields of its results and
	// may drop all others.
	Narrow(fields []string) Stage
}

// PerDocument is a Stage whose output for a document depends on that document alone, so that
// several goroutines may run it.
type PerDocument interface {
	IsPerDocument() bool
}

// OneToOne is a Stage that may yield exactly one document per input document, in the same order.
type OneToOne interface {
	IsOneToOne() bool
}

// Changer is a Stage that passes documents on with some top-level fields changed.
type Changer interface {
	// Changes returns the names of the changed top-level fields. drops is true if the stage may
	// drop documents. If ok is false, the stage cannot name the fields.
	Changes() (fields []string, drops, ok bool)
}

// Failing is a Stage that tells whether it may return an error, apart from the errors of its input.
// The optimiser assumes that other stages may.
type Failing interface {
	CanFail() bool
}
