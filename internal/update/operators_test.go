package update

import "testing"

// TestDefinitionsAreComplete checks that every operator has a name, a family and one way to compile
// it.
func TestDefinitionsAreComplete(t *testing.T) {
	t.Parallel()
	for _, def := range definitions {
		if def.name == "" || def.family == "" || (def.parse == nil) == (def.add == nil) {
			t.Errorf("%q needs a name, a family, and parse or add", def.name)
		}
	}
}
