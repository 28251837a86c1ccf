package window

import "testing"

// TestFunctionsAreDefinedOnce checks that no function is defined twice, neither here nor by an
// accumulator that is also a window function.
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
