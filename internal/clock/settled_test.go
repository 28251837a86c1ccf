package clock

import (
	"math/rand/v2"
	"testing"
	"time"
)

// fake is a computer whose clock can be set.
type fake struct {
	wall    time.Time
	elapsed time.Duration
}

func (f *fake) pass(d time.Duration) { f.wall, f.elapsed = f.wall.Add(d), f.elapsed+d }

func newFake() (*fake, *settled) {
	f := &fake{wall: time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)}
	return f, newSettled(func() (time.Time, time.Duration) { return f.wall, f.elapsed })
}

const year = 365 * 24 * time.Hour

func TestSettledIgnoresAMoment(t *testing.T) {
	t.Parallel()
	for _, jump := range []time.Duration{time.Minute, time.Hour, year, 100 * year} {
		f, s := newFake()
		right := f.wall
		f.wall = f.wall.Add(jump)
		for range 5 {
			f.pass(10 * time.Second)
			right = right.Add(10 * time.Second)
			if got := s.Now(); !got.Equal(right) {
				t.Fatalf("a jump of %v: %v, want %v", jump, got, right)
			}
		}
		f.wall = right
		if got := s.Now(); !got.Equal(right) {
			t.Errorf("after a jump of %v: %v, want %v", jump, got, right)
		}
	}
}

func TestSettledBelievesInTheEnd(t *testing.T) {
	t.Parallel()
	f, s := newFake()
	f.wall = f.wall.Add(5 * year) // like a machine that learns the time after its start
	s.Now()
	f.pass(patience)
	if got := s.Now(); !got.Equal(f.wall) {
		t.Errorf("%v, want %v", got, f.wall)
	}
	f.wall = f.wall.Add(-3 * year)
	if got := s.Now(); !got.Equal(f.wall) {
		t.Errorf("after a way back: %v, want %v", got, f.wall)
	}
	f.wall = f.wall.Add(tolerance)
	if got := s.Now(); !got.Equal(f.wall) {
		t.Errorf("after a correction: %v, want %v", got, f.wall)
	}
}

// TestSettledNeverAhead jumps at random. The clock must never be ahead of the right time while no
// jump lasts for a minute.
func TestSettledNeverAhead(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	f, s := newFake()
	right := f.wall
	for range 10_000 {
		d := time.Duration(rng.Int64N(int64(20 * time.Second)))
		f.pass(d)
		right = right.Add(d)
		f.wall = right // no jump lasts
		if rng.IntN(2) == 0 {
			f.wall = right.Add(time.Duration(rng.Int64N(int64(4*year))) - 2*year)
		}
		if got := s.Now(); got.After(right.Add(tolerance)) {
			t.Fatalf("%v is ahead of %v", got, right)
		}
	}
}

func TestSettleLeavesOthers(t *testing.T) {
	t.Parallel()
	if _, ok := Settle(Fixed(time.Unix(1, 0))).(Fixed); !ok {
		t.Error("a clock that tests set is as they set it")
	}
	if d := time.Since(Settle(System{}).Now()); d.Abs() > time.Minute {
		t.Errorf("off by %v", d)
	}
}
