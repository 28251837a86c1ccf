package plan

import (
	"strconv"
	"testing"
)

func TestCache(t *testing.T) {
	t.Parallel()
	c := newCache(2)
	shape := []byte("shape")
	expect := func(step string, signature string, active bool) {
		t.Helper()
		s, _, ok := c.get(1, shape, 1)
		if s != signature || ok != active {
			t.Errorf("%s: %q active %v, want %q %v", step, s, ok, signature, active)
		}
	}
	expect("empty", "", false)
	c.put(1, shape, 1, trialOutcome{signature: "ix", works: 10})
	expect("the first trial", "ix", false)
	c.put(1, shape, 1, trialOutcome{signature: "ix", works: 15})
	expect("a dearer trial", "ix", false)
	c.put(1, shape, 1, trialOutcome{signature: "ix", works: 15})
	expect("within twice the works", "ix", true)
	c.deactivate(1, shape)
	expect("after a replan", "ix", false)
	c.put(1, shape, 1, trialOutcome{signature: "other", works: 5})
	expect("a new winner", "other", true)
	if _, _, ok := c.get(1, shape, 2); ok || len(c.entries) != 0 {
		t.Error("an entry of another catalog version is used")
	}
	for i := range 5 {
		c.put(uint32(i), []byte(strconv.Itoa(i)), 1, trialOutcome{signature: "ix", works: 1, describe: func() *cacheDebug { return &cacheDebug{} }})
	}
	if len(c.entries) != 2 || c.order.Len() != 2 {
		t.Errorf("%d entries, want 2", len(c.entries))
	}
	c.clear(4)
	if len(c.entries) != 1 {
		t.Errorf("%d entries after clear, want 1", len(c.entries))
	}
	c.clear(3)
	if c.debug != 0 {
		t.Errorf("an empty cache counts %d bytes of debug", c.debug)
	}
}
