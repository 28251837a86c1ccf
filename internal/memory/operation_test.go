package memory

import "testing"

// TestParts counts memory for parts of an operation, and gives it back when they end.
func TestParts(t *testing.T) {
	t.Parallel()
	b := New(16 * Step)
	var o Operation
	o.Use(b)
	add := func(n int64) {
		t.Helper()
		if err := o.Add(n); err != nil {
			t.Fatal(err)
		}
	}
	add(2 * Step)
	for range 100 {
		p := o.Begin()
		add(4 * Step)
		p.End()
		inner := o.Begin()
		add(4 * Step)
		if n := inner.Release(); n != 4*Step {
			t.Errorf("the inner part is %d", n)
		}
		if n := p.Release(); n != 4*Step {
			t.Errorf("the part is %d", n)
		}
		if n := p.Release(); n != 0 {
			t.Errorf("the part is released twice: %d", n)
		}
	}
	if err := o.Add(16 * Step); err == nil {
		t.Error("more than the budget was given")
	}
	o.Release()
	if used := b.Stats().Used; used != 0 {
		t.Errorf("%d bytes are used", used)
	}
}

// TestHandOver ends an operation whose cursor stays open.
func TestHandOver(t *testing.T) {
	t.Parallel()
	b := New(16 * Step)
	var o Operation
	o.Use(b)
	if n := o.HandOver(); n != 0 {
		t.Errorf("nothing is %d", n)
	}
	p := o.Begin()
	if err := o.Add(8 * Step); err != nil {
		t.Fatal(err)
	}
	p.End()
	if n := o.HandOver(); n != 8*Step {
		t.Errorf("%d bytes are handed over", n)
	}
	if used := b.Stats().Used; used != 0 {
		t.Errorf("%d bytes are used", used)
	}
	p.Release()
	if err := o.Add(16 * Step); err != nil {
		t.Error(err)
	}
	if n := o.HandOver(); n != 16*Step {
		t.Errorf("%d bytes after the part of an earlier turn", n)
	}
	o.Release()
	var none *Operation
	p = none.Begin()
	p.End()
	p.Release()
}
