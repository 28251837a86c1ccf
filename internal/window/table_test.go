package window

import "testing"

// TestFunctionsAreDefinedOnce pins that no accumulator is listed here that says of itself that it is
// a window function.
func TestFunctionsAreDefinedOnce(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, info := range Functions() {
		if seen[info.Name] {
			t.Errorf("%s is defined twice", info.Name)
		}
		seen[info.Name] = true
	}
}
