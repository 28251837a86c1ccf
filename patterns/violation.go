package patterns

import "fmt"

// Violation is a document that contradicts an invariant of a pattern.
type Violation struct {
	// Rule names the invariant, as the package's documentation does: "each seat has one owner".
	Rule string
	// Collection and ID name the document.
	Collection string
	ID         any
	// Detail has the found and the expected value.
	Detail string
}

// String returns the violation in one line.
func (v Violation) String() string {
	return fmt.Sprintf("%s: %s %v: %s", v.Rule, v.Collection, v.ID, v.Detail)
}
