package index

import (
	"reflect"
	"testing"

	"github.com/sheafdb/sheaf/internal/feature"
)

// TestDefinitionsAreComplete pins that every type of index answers what the planner and DDL ask,
// and that the answers agree.
func TestDefinitionsAreComplete(t *testing.T) {
	t.Parallel()
	for _, def := range definitions() {
		title := def.Name + def.Title
		properties := reflect.ValueOf(def.Properties)
		for i := range properties.NumField() {
			if properties.Field(i).IsZero() {
				t.Errorf("%s: %s has no default", title, properties.Type().Field(i).Name)
			}
		}
		if title == "" || def.Compile == nil {
			t.Errorf("%q: it has no name or no Compile", title)
		}
		if def.Equality == feature.Yes && def.Bounded != feature.Yes {
			t.Errorf("%s: a scan for a value needs bounds", title)
		}
	}
}
