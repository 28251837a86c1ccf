package bsonx

import "testing"

func nest(n int, array bool) Value {
	v := Document(NewDoc())
	for range n - 1 {
		b := NewBuilder(nil)
		if array {
			b.StartArray()
			b.Elem(v)
			b.End()
			v = Array(b.Bytes())
			continue
		}
		b.StartDoc()
		b.Value("", v)
		b.End()
		v = Document(b.Bytes())
	}
	return v
}

func TestDeeper(t *testing.T) {
	for _, array := range []bool{false, true} {
		for _, n := range []int{1, 2, 199, 200, 201, 5000} {
			v := nest(n, array)
			for limit, want := range map[int]bool{n - 1: true, n: false, n + 1: false} {
				if got := v.Deeper(limit); got != want {
					t.Errorf("array %v: %d levels are deeper than %d: %v", array, n, limit, got)
				}
			}
		}
	}
	if Int32(1).Deeper(0) {
		t.Error("a number is nested")
	}
}
