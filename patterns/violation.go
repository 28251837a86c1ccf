package patterns

import "fmt"

// Violation is something that contradicts an invariant of a pattern.
type Violation struct {
	// Rule names the invariant, as the package's documentation does: "each seat has one owner".
	Rule string
	// Collection and ID tell where it was seen.
	Collection string
	ID         any
	// Detail says what was found and what was expected.
	Detail string
}

// String returns the violation in one line.
func (v Violation) String() string {
	return fmt.Sprintf("%s: %s %v: %s", v.Rule, v.Collection, v.ID, v.Detail)
}
