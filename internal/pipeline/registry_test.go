package pipeline

import (
	"reflect"
	"testing"

	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
)

// TestDefinitionsAreComplete checks that every definition sets all properties, and that the
// properties do not contradict each other. Access checks rely on them.
func TestDefinitionsAreComplete(t *testing.T) {
	t.Parallel()
	for _, def := range definitions() {
		for _, properties := range []reflect.Value{reflect.ValueOf(def.Safety), reflect.ValueOf(def.Properties)} {
			for i := range properties.NumField() {
				if properties.Field(i).IsZero() {
					t.Errorf("%s: %s has no default", def.Name, properties.Type().Field(i).Name)
				}
			}
		}
		if def.Inside == nil {
			t.Errorf("%s: Inside has no default", def.Name)
		}
		if def.Parse != nil && def.Refuse != nil || def.Transform != nil && (def.Parse != nil || def.Refuse != nil) {
			t.Errorf("%s has more than one of Parse, Transform and Refuse", def.Name)
		}
		if def.Writes == feature.Yes &&
			(def.Joined != feature.No || def.Facets != feature.No ||
				def.Views != feature.No || def.Transform != nil) {
			t.Errorf("%s writes, so no sub-pipeline, view or update may have it", def.Name)
		}
		if (def.Writes == feature.Yes) != (def.NotExplained != 0) {
			t.Errorf("%s: explain must not run the stages that write, and needs an error for them", def.Name)
		}
		if def.IsFirst() && def.Facets != feature.No {
			t.Errorf("%s must be the first stage, which it is not in a facet", def.Name)
		}
		if def.Transform != nil && def.ChangeStreams != parsing.InChangeStream {
			t.Errorf("%s makes one document of each, so a change stream may have it", def.Name)
		}
	}
}

// TestStagesHaveOneDefinition checks that no name is defined twice.
func TestStagesHaveOneDefinition(t *testing.T) {
	t.Parallel()
	if n := len(definitions()); n != len(registry()) {
		t.Errorf("%d definitions have %d names", n, len(registry()))
	}
}
