package filter

import "testing"

// TestDefinitionsAreComplete checks that every operator sets the fields that have no default, and
// that a failure has the text for a mismatch and the text for an unwanted match.
func TestDefinitionsAreComplete(t *testing.T) {
	t.Parallel()
	for _, def := range operators() {
		if def.depends == 0 || def.operand == 0 || def.failure == nil {
			t.Errorf("%s: depends, operand and failure have no default", def.name)
			continue
		}
		if f := def.failure; f != explainedElsewhere && !f.exists && (f.no == "" || f.yes == "") {
			t.Errorf("%s: the failure has no text", def.name)
		}
	}
}
