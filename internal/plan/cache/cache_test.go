package cache

import (
	"strconv"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/torture"
)

func TestCache(t *testing.T) {
	t.Parallel()
	c := New(2)
	shape := []byte("shape")
	expect := func(step string, signature string, active bool) {
		t.Helper()
		s, _, ok := c.Get(1, shape, 1)
		if s != signature || ok != active {
			t.Errorf("%s: %q active %v, want %q %v", step, s, ok, signature, active)
		}
	}
	expect("empty", "", false)
	c.Put(1, shape, 1, Outcome{Signature: "ix", Works: 10})
	expect("the first trial", "ix", false)
	c.Put(1, shape, 1, Outcome{Signature: "ix", Works: 15})
	expect("a dearer trial", "ix", false)
	c.Put(1, shape, 1, Outcome{Signature: "ix", Works: 15})
	expect("within twice the works", "ix", true)
	c.Deactivate(1, shape)
	expect("after a replan", "ix", false)
	c.Put(1, shape, 1, Outcome{Signature: "other", Works: 5})
	expect("a new winner", "other", true)
	if _, _, ok := c.Get(1, shape, 2); ok || len(c.entries) != 0 {
		t.Error("an entry of another catalog version is used")
	}
	for i := range 5 {
		c.Put(uint32(i), []byte(strconv.Itoa(i)), 1,
			Outcome{Signature: "ix", Works: 1, Describe: func() *Debug { return &Debug{} }})
	}
	if len(c.entries) != 2 || c.order.Len() != 2 {
		t.Errorf("%d entries, want 2", len(c.entries))
	}
	c.Clear(4)
	if len(c.entries) != 1 {
		t.Errorf("%d entries after clear, want 1", len(c.entries))
	}
	c.Clear(3)
	if c.debug != 0 || c.bytes != 0 {
		t.Errorf("an empty cache counts %d bytes, and %d of debug", c.bytes, c.debug)
	}
}

// TestCacheBytes puts shapes and signatures of up to a megabyte, and checks that the total size of
// the cache stays within its limit.
func TestCacheBytes(t *testing.T) {
	torture.NeedsLong(t)
	t.Parallel()
	c := New(DefaultSize)
	for size := 1 << 10; size <= 1<<20; size *= 4 {
		for i := range 500 {
			shape := append(make([]byte, size), strconv.Itoa(i)...)
			for range 2 { // the second time the entry exists
				c.Put(1, shape, 1, Outcome{Signature: strings.Repeat("s", size/2), Works: 1})
			}
			sum := 0
			for el := c.order.Front(); el != nil; el = el.Next() {
				sum += el.Value.(*entry).bytes()
			}
			if sum != c.bytes || sum > maxCacheBytes || len(c.entries) != c.order.Len() {
				t.Fatalf("shapes of %d: %d bytes are counted, %d are there", size, c.bytes, sum)
			}
		}
		if _, _, ok := c.Get(1, append(make([]byte, size), "499"...), 1); ok != (size <= maxCacheEntry) {
			t.Errorf("a shape of %d: cached %v", size, ok)
		}
	}
	c.Clear(1)
	if c.bytes != 0 {
		t.Errorf("an empty cache counts %d bytes", c.bytes)
	}
}
