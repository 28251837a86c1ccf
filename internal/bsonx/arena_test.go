package bsonx_test

import (
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// fillArena creates values of all kinds, some of them too large for a chunk. It also returns the
// expected values.
func fillArena(a *bsonx.Arena, n int) (got, want []bsonx.Value) {
	for i := range n {
		text := strings.Repeat("x", i*37%2000)
		v, to := a.Text(len(text))
		copy(to, text)
		got = append(got, v, a.Double(float64(i)), a.Int32(int32(i)), a.Int64(int64(i)), a.Date(int64(i)))
		want = append(want, bsonx.String(text), bsonx.Double(float64(i)), bsonx.Int32(int32(i)),
			bsonx.Int64(int64(i)), bsonx.Date(int64(i)))
	}
	return got, want
}

// TestArena requires that the values of an arena do not change, even if a caller appends to one of
// them.
func TestArena(t *testing.T) {
	t.Parallel()
	for _, a := range []*bsonx.Arena{nil, new(bsonx.Arena)} {
		got, want := fillArena(a, 1000)
		for i := range got {
			_ = append(got[i].Data, 0xFF)
		}
		for i := range got {
			if got[i].Type != want[i].Type || string(got[i].Data) != string(want[i].Data) {
				t.Fatalf("value %d is %v, want %v", i, got[i], want[i])
			}
		}
	}
}

func TestArenaRewind(t *testing.T) {
	var a bsonx.Arena
	for range 100 {
		a.Double(1)
	}
	if n := testing.AllocsPerRun(100, func() {
		a.Rewind()
		if v := a.Double(2); v.Double() != 2 {
			t.Error("a value made after Rewind is wrong")
		}
	}); n > 0 {
		t.Errorf("%v allocations after Rewind", n)
	}
}
