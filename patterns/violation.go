package patterns

import "fmt"

// Violation is a document that violates an invariant of a pattern.
type Violation struct {
	// Rule is the invariant in the words of the package's documentation, for example "each seat has
	// one owner".
	Rule string
	// Collection and ID identify the document.
	Collection string
	ID         any
	// Detail has the value that was found and the expected value.
	Detail string
}

// String returns the violation in one line.
func (v Violation) String() string {
	return fmt.Sprintf("%s: %s %v: %s", v.Rule, v.Collection, v.ID, v.Detail)
}
