package accumulator

import "testing"

// TestDefinitionsAreComplete checks that every definition sets the properties that have no
// default. Access checks rely on them.
func TestDefinitionsAreComplete(t *testing.T) {
	t.Parallel()
	for _, def := range definitions() {
		if def.Name == "" || (def.New == nil) == (def.Parse == nil) {
			t.Errorf("%q needs a name, and New or Parse", def.Name)
		}
		if def.Depends == 0 || def.StableAPI == 0 || def.Window == 0 || def.InputOrder == 0 {
			t.Errorf("%s: Depends, StableAPI, Window and InputOrder have no default", def.Name)
		}
	}
}
