package feature

// Answer answers a question about a definition. The zero value is no answer, so that a test can
// find the definitions that have none.
type Answer byte

// The answers.
const (
	_ Answer = iota
	Yes
	No
)
