package clock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/clock/clocktest"
)

var start = time.Unix(1000, 0)

func TestTimersFollowADriver(t *testing.T) {
	t.Parallel()
	m := clocktest.New(start)
	var fired []string
	clock.AfterFunc(m, 2*time.Hour, func() { fired = append(fired, "second") })
	clock.AfterFunc(m, time.Hour, func() { fired = append(fired, "first") })
	stopped := clock.AfterFunc(m, time.Hour, func() { fired = append(fired, "stopped") })
	if !stopped.Stop() || stopped.Stop() {
		t.Error("a timer runs until it is stopped")
	}
	channel, timer := clock.NewTimer(m, time.Hour)
	if m.Advance(time.Hour - 1); len(fired) > 0 {
		t.Fatalf("%v fired early", fired)
	}
	if m.Advance(1); len(fired) != 1 || fired[0] != "first" {
		t.Fatalf("%v fired", fired)
	}
	if at := <-channel; !at.Equal(start.Add(time.Hour)) {
		t.Errorf("the timer fired at %v", at)
	}
	if timer.Reset(time.Hour) {
		t.Error("a timer that fired does not run")
	}
	m.Advance(10 * time.Hour)
	if at := <-channel; !at.Equal(start.Add(2*time.Hour)) || len(fired) != 2 {
		t.Errorf("the timer fired at %v, %v fired", at, fired)
	}
}

func TestTickerFollowsADriver(t *testing.T) {
	t.Parallel()
	m := clocktest.New(start)
	ticks, stop := clock.NewTicker(m, time.Hour)
	for range 3 {
		m.Advance(time.Hour)
		if at := <-ticks; !at.Equal(m.Now()) {
			t.Errorf("a tick at %v", at)
		}
	}
	m.Advance(5 * time.Hour) // nobody reads, so one tick waits and the others are dropped
	stop()
	m.Advance(5 * time.Hour)
	if len(ticks) != 1 {
		t.Errorf("%d ticks wait", len(ticks))
	}
}

// TestTickerMayFireAtOnce moves the clock while a ticker is created. stop must end the ticker
// nevertheless. The race detector finds other errors.
func TestTickerMayFireAtOnce(t *testing.T) {
	t.Parallel()
	for range 100 {
		c := clocktest.New(time.Unix(1000, 0))
		moved := make(chan struct{})
		go func() {
			defer close(moved)
			c.Wait(1)
			c.Advance(time.Minute)
		}()
		ticks, stop := clock.NewTicker(c, time.Minute)
		<-ticks
		<-moved
		stop()
		c.Advance(time.Hour)
		select {
		case <-ticks:
			t.Fatal("a ticker that was stopped ticks")
		default:
		}
	}
}

func TestSleep(t *testing.T) {
	t.Parallel()
	m := clocktest.New(start)
	done := make(chan error, 1)
	go func() { done <- clock.Sleep(t.Context(), m, time.Hour) }()
	m.Wait(1)
	m.Advance(time.Hour)
	if err := <-done; err != nil {
		t.Error(err)
	}
	ended := errors.New("ended")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ended)
	if err := clock.Sleep(ctx, m, time.Hour); !errors.Is(err, ended) {
		t.Error(err)
	}
	if err := clock.Sleep(ctx, m, 0); !errors.Is(err, ended) {
		t.Error(err)
	}
}

// TestSystemTimers uses clocks that are not Drivers. Their timers follow the computer's time.
func TestSystemTimers(t *testing.T) {
	t.Parallel()
	for _, c := range []clock.Clock{clock.System{}, clock.Fixed(start)} {
		fired := make(chan struct{})
		clock.AfterFunc(c, time.Millisecond, func() { close(fired) })
		<-fired
		channel, timer := clock.NewTimer(c, time.Millisecond)
		<-channel
		timer.Stop()
		ticks, stop := clock.NewTicker(c, time.Millisecond)
		<-ticks
		<-ticks
		stop()
		if err := clock.Sleep(t.Context(), c, time.Millisecond); err != nil {
			t.Error(err)
		}
	}
}
