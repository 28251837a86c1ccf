package schema_test

import (
	"context"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/schema/schematest"
	"github.com/sheafdb/sheaf/internal/storage/mem"
)

// TestRebuildIsWholeOrNothing interrupts a rebuild of indexes, which must keep the old indexes.
// Then it completes a rebuild while a collMod runs.
func TestRebuildIsWholeOrNothing(t *testing.T) {
	t.Parallel()
	s := schematest.Open(t, mem.New())
	c, err := schema.Ensure(s, "db", "c")
	if err != nil {
		t.Fatal(err)
	}
	for id := range 1000 {
		if err := schematest.Insert(s, c, bsonx.NewDoc("_id", id, "n", id, "m", -id)); err != nil {
			t.Fatal(err)
		}
	}
	specs := []bsonx.Doc{
		schematest.Spec("n", bsonx.NewDoc("n", 1), "unique", true),
		schematest.Spec("m", bsonx.NewDoc("m", -1)),
	}
	if err := schema.CreateIndexes(t.Context(), s, c, specs); err != nil {
		t.Fatal(err)
	}
	check := func(when string) {
		t.Helper()
		current := s.Current(c)
		if len(current.Indexes) != 2 {
			t.Fatalf("%s: %d indexes", when, len(current.Indexes))
		}
		for i, ix := range current.Indexes {
			if !ix.Ready || ix.Name != specs[i].Lookup("name").Str() {
				t.Errorf("%s: index %q, ready %t", when, ix.Name, ix.Ready)
			}
		}
		schematest.MustValid(t, s, current)
		if err := schematest.Insert(s, current, bsonx.NewDoc("_id", "twice", "n", 1)); err == nil {
			t.Errorf("%s: the index is not unique", when)
		}
	}
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := schema.RebuildIndexes(interrupted, s, c); err == nil {
		t.Error("an interrupted rebuild succeeded")
	}
	check("after an interrupt")
	old := s.Current(c).Indexes[0].ID
	looks := 0
	// The copies must not be visible while they are built.
	watched := &schematest.StepContext{Context: t.Context(), Step: func(int) {
		looks++
		for _, ix := range s.Current(c).Indexes {
			if strings.HasPrefix(ix.Name, "\x00") {
				t.Errorf("index %q is visible", ix.Name)
			}
		}
	}}
	defer func() {
		if looks == 0 {
			t.Error("the rebuild was not watched")
		}
	}()
	if rebuilt, err := schema.RebuildIndexes(watched, s, c); err != nil || len(rebuilt) != 2 {
		t.Errorf("%d indexes, %v", len(rebuilt), err)
	}
	check("after a rebuild")
	if s.Current(c).Indexes[0].ID == old {
		t.Error("the index is the old one")
	}
}
