package filter

import "testing"

// TestOperatorsSayWhatTheyDependOn checks that every operator sets depends.
func TestOperatorsSayWhatTheyDependOn(t *testing.T) {
	t.Parallel()
	for _, def := range operators() {
		if def.depends == 0 {
			t.Errorf("%s does not say what it depends on", def.name)
		}
	}
}
