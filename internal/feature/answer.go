package feature

// Answer answers a question about a definition. The zero value says nothing, so that a test can
// find the definitions without an answer.
type Answer byte

// The answers.
const (
	_ Answer = iota
	Yes
	No
)
