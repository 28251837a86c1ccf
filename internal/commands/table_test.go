package commands

import (
	"reflect"
	"slices"
	"testing"

	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
)

// TestDefinitionsAreComplete checks each command's definition. All Properties must be set, names
// must be unique, and Run and Refuse exclude each other. A retryable command must write, and rules
// for transactions must fit the property Transactions.
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
		if rules := def.InTransaction; rules.Refused != "" && def.Transactions != feature.No ||
			(rules.Ends || rules.NotFirst != "") && def.Transactions != feature.Yes || rules.Recommits && !rules.Ends {
			t.Errorf("%s has rules for transactions that it cannot be in", def.Name)
		}
		if name := def.CollectionField; name != "" &&
			!slices.ContainsFunc(def.Fields, func(f command.Field) bool { return f.Name == name && f.Required }) {
			t.Errorf("%s needs the field %s for the name of its collection", def.Name, name)
		}
		for _, name := range append(def.Aliases, def.Name) {
			if names[name] {
				t.Errorf("%s is defined twice", name)
			}
			names[name] = true
		}
	}
}
