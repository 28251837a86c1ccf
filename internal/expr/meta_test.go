package expr

import "testing"

// TestMetaKindsAreComplete checks that every kind of metadata sets the properties that have no
// default. The check of the Stable API relies on them.
func TestMetaKindsAreComplete(t *testing.T) {
	t.Parallel()
	for _, kind := range MetaKinds() {
		if kind.Name == "" || kind.StableAPI == 0 || kind.read == nil {
			t.Errorf("%q: Name, StableAPI and read have no default", kind.Name)
		}
		if (kind.From == AnySearch) != (kind.shown == "") {
			t.Errorf("%s: the error for missing metadata needs a search and a name", kind.Name)
		}
	}
}
