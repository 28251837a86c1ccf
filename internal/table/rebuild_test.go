package table_test

import (
	"context"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/storage/mem"
)

// TestRebuildIsWholeOrNothing interrupts a rebuild of indexes, which leaves the old ones, and runs one to
// its end beside a collMod.
func TestRebuildIsWholeOrNothing(t *testing.T) {
	t.Parallel()
	s := open(t, mem.New())
	c, err := s.Ensure("db", "c")
	if err != nil {
		t.Fatal(err)
	}
	for id := range 1000 {
		if err := insert(s, c, bsonx.NewDoc("_id", id, "n", id, "m", -id)); err != nil {
			t.Fatal(err)
		}
	}
	specs := []bsonx.Doc{spec("n", bsonx.NewDoc("n", 1), "unique", true), spec("m", bsonx.NewDoc("m", -1))}
	if err := s.CreateIndexes(t.Context(), c, specs); err != nil {
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
		mustValid(t, s, current)
		if err := insert(s, current, bsonx.NewDoc("_id", "twice", "n", 1)); err == nil {
			t.Errorf("%s: the index is not unique", when)
		}
	}
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.RebuildIndexes(interrupted, c); err == nil {
		t.Error("an interrupted rebuild succeeded")
	}
	check("after an interrupt")
	old := s.Current(c).Indexes[0].ID
	looks := 0
	// Nobody sees the copies while they are built.
	watched := &stepContext{Context: t.Context(), step: func(int) {
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
	if rebuilt, err := s.RebuildIndexes(watched, c); err != nil || len(rebuilt) != 2 {
		t.Errorf("%d indexes, %v", len(rebuilt), err)
	}
	check("after a rebuild")
	if s.Current(c).Indexes[0].ID == old {
		t.Error("the index is the old one")
	}
}
