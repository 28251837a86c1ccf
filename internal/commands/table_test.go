package commands

import (
	"reflect"
	"testing"

	"github.com/sheafdb/sheaf/internal/feature"
)

// TestDefinitionsAreComplete checks each command's definition: all Properties must be set, a
// retryable command must write, Run and Refuse exclude each other, and names must be unique.
func TestDefinitionsAreComplete(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, def := range Definitions() {
		properties := reflect.ValueOf(def.Properties)
		for i := range properties.NumField() {
			if properties.Field(i).IsZero() {
				t.Errorf("%s: %s has no default", def.Name, properties.Type().Field(i).Name)
			}
		}
		if def.Retryable && def.Writes != feature.Yes {
			t.Errorf("%s is retryable, so it writes", def.Name)
		}
		if def.Run != nil && def.Refuse != nil {
			t.Errorf("%s is both run and refused", def.Name)
		}
		for _, name := range append(def.Aliases, def.Name) {
			if names[name] {
				t.Errorf("%s is defined twice", name)
			}
			names[name] = true
		}
	}
}
