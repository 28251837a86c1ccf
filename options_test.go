package sheaf_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/sheafdb/sheaf"
)

// TestOptionsOutOfBoundsAreRefused sets each numeric option of Open to -1. Open must refuse it,
// unless this test lists the meaning of -1 for that option.
func TestOptionsOutOfBoundsAreRefused(t *testing.T) {
	t.Parallel()
	negative := map[string]string{"RequestMemory": "no bound", "SlowOperation": "none"}
	for field := range reflect.TypeFor[sheaf.Options]().Fields() {
		var o sheaf.Options
		value := reflect.ValueOf(&o).Elem().FieldByIndex(field.Index)
		if !value.CanInt() || negative[field.Name] != "" {
			continue
		}
		value.SetInt(-1)
		db, err := sheaf.Open(sheaf.Memory, &o)
		if !errors.Is(err, sheaf.ErrOptions) {
			t.Errorf("%s of -1: %v", field.Name, err)
		}
		if err == nil {
			_ = db.Close()
		}
	}
	if _, err := sheaf.Open(sheaf.Memory,
		&sheaf.Options{Sync: sheaf.SyncNever + 1}); !errors.Is(err, sheaf.ErrOptions) {
		t.Errorf("a policy that does not exist: %v", err)
	}
}
