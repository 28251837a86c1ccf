package torture_test

import (
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/torture"
)

func TestRounds(t *testing.T) {
	r := torture.Begin(t)
	n := 0
	for r.Next(3, time.Hour) {
		if n++; n > 3 && torture.Time(0) == 0 {
			t.Fatal("more rounds than asked for")
		}
	}
	if r.Rounds() != n || n < torture.Part(3) {
		t.Errorf("%d rounds, %d are counted", n, r.Rounds())
	}
}

// TestSome takes a part of a list and of a map, which is never empty.
func TestSome(t *testing.T) {
	list := torture.Some([]int{0, 1, 2, 3, 4}, 2)
	var names []string
	for name := range torture.SomeOf(map[string]int{"c": 0, "b": 0, "a": 0}, 2) {
		names = append(names, name)
	}
	want, wantNames := []int{0, 2, 4}, []string{"a", "c"}
	switch {
	case torture.Long():
		want, wantNames = []int{0, 1, 2, 3, 4}, []string{"a", "b", "c"}
	case testing.Short():
		want, wantNames = []int{0}, []string{"a"}
	}
	if !slices.Equal(list, want) || !slices.Equal(names, wantNames) {
		t.Errorf("%v, %v", list, names)
	}
	if n := torture.Part(64) * torture.Share(); n != 64 || torture.Part(1) != 1 {
		t.Errorf("%d of 64 in %d parts", n, torture.Share())
	}
}

// TestProxy sends messages through a proxy to an echo server. Without faults, each reply must have
// the full length. With faults, the proxy must cut the connection.
func TestProxy(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
		}
	}()
	p := torture.NewProxy(t, rand.New(rand.NewPCG(1, 2)), func() string { return l.Addr().String() })
	echo := func(c net.Conn) error {
		message := append([]byte{20, 0, 0, 0}, make([]byte, 16)...)
		if _, err := c.Write(message); err != nil {
			return err
		}
		_, err := io.ReadFull(c, message)
		return err
	}
	c, err := net.Dial("tcp", p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 100 {
		if err := echo(c); err != nil {
			t.Fatal(err)
		}
	}
	p.Set(torture.Faults{Cut: 0.1, Slow: 0.1, Delay: time.Millisecond})
	n := 0
	for echo(c) == nil {
		n++
	}
	if p.Cuts() == 0 || n > 1000 {
		t.Errorf("%d cuts, after %d echoes", p.Cuts(), n)
	}
}
