package clock

import (
	"testing"
	"time"
)

func TestSince(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	if got := Since(Fixed(now), now.Add(-time.Minute)); got != time.Minute {
		t.Errorf("%v have passed by a fixed clock", got)
	}
	if got := Since(System{}, time.Now().Add(-time.Hour)); got < time.Hour || got > 2*time.Hour {
		t.Errorf("%v have passed by the computer's clock", got)
	}
}

func TestOrSystem(t *testing.T) {
	t.Parallel()
	now := Fixed(time.Unix(1000, 0))
	if got := OrSystem(now); got != now {
		t.Errorf("a clock that was given became %v", got)
	}
	if got := OrSystem(nil); got != (System{}) {
		t.Errorf("the default is %v", got)
	}
}
