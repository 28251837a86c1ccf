package engine

import (
	_ "embed"
	"flag"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dop251/goja"

	"github.com/sheafdb/sheaf/internal/torture"
)

//go:embed builtins_test.js
var builtinsSource string

var (
	everyBuiltin = flag.Bool("js.builtins", false, "call every built-in function with every large argument, and interrupt it")
	builtinStep  = flag.Int("js.builtins.step", 1, "with js.builtins, make one of so many calls only")
	builtinNames = flag.String("js.builtins.names", "", "make only calls whose names match this regular expression")
)

const (
	// builtinBound is the processor time that a call may take after it was interrupted, on an idle
	// machine.
	builtinBound = 250 * time.Millisecond
	// builtinPatience is the time after which a call is interrupted.
	builtinPatience = 5 * time.Millisecond
)

// TestBuiltins calls the built-in functions with large arguments and interrupts them. An interrupt
// does not stop a built-in function, so its limits must. The runtime provides the list of
// functions. Without the flag js.builtins the arguments are small, and the test only requires that
// no call makes the engine panic.
func TestBuiltins(t *testing.T) {
	torture.SkipShort(t)
	size, step := 50, 1
	if !torture.Long() {
		step = 3
	}
	if *everyBuiltin {
		size, step = maxListLength, *builtinStep
		torture.SteadyHeap(t)
	}
	e, err := newEngine()
	if err != nil {
		t.Fatal(err)
	}
	e.watch.ctx = t.Context()
	names := regexp.MustCompile(*builtinNames)
	own := map[string]bool{}
	for _, c := range builtinCalls(t, goja.New(), size, func() {}) {
		own[c.name] = true
	}
	var longest time.Duration
	var interrupted atomic.Int64
	var timer *time.Timer
	number, slowest := 0, ""
	begin := func() {
		timer = time.AfterFunc(builtinPatience, func() {
			interrupted.Store(int64(torture.ProcessorTime()))
			e.watch.interrupt("the test")
		})
	}
	for i, c := range builtinCalls(t, e.rt, size, begin) {
		if !own[c.name] || i%step != 0 || !names.MatchString(c.name) {
			continue // the other functions are written in JavaScript, so an interrupt ends them
		}
		if *everyBuiltin {
			torture.Collect()
		}
		interrupted.Store(0)
		callBuiltin(t, c)
		end := torture.ProcessorTime()
		if timer != nil {
			timer.Stop()
		}
		e.watch.resume()
		number++
		if at := interrupted.Load(); at > 0 && end-time.Duration(at) > longest {
			longest, slowest = end-time.Duration(at), c.name
		}
		if at := interrupted.Load(); *everyBuiltin && at > 0 && end-time.Duration(at) > builtinBound {
			t.Errorf("%s: %v after its interrupt", c.name, end-time.Duration(at))
		}
	}
	t.Logf("%d calls, at most %v after the interrupt: %s", number, longest, slowest)
	if number < 20 && *builtinNames == "" {
		t.Errorf("%d calls", number)
	}
}

// callBuiltin makes one call. It reports a panic of the engine, which a server would report as an
// internal error.
func callBuiltin(t *testing.T, c builtinCall) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s: %v", c.name, p)
		}
	}()
	_, _ = c.call(goja.Undefined())
}

type builtinCall struct {
	name string
	call goja.Callable
}

// builtinCalls lists calls of the functions in a runtime, with lists of size elements. Each call
// runs begin when its arguments are ready.
func builtinCalls(t *testing.T, rt *goja.Runtime, size int, begin func()) []builtinCall {
	t.Helper()
	if err := rt.Set("begin", begin); err != nil {
		t.Fatal(err)
	}
	v, err := rt.RunString(builtinsSource)
	if err != nil {
		t.Fatal(err)
	}
	run, ok := goja.AssertFunction(v)
	if !ok {
		t.Fatal("not a function")
	}
	list, err := run(goja.Undefined(), rt.ToValue(size))
	if err != nil {
		t.Fatal(err)
	}
	var out []builtinCall
	pairs := list.ToObject(rt)
	for i := range int(pairs.Get("length").ToInteger()) {
		pair := pairs.Get(rt.ToValue(i).String()).ToObject(rt)
		call, ok := goja.AssertFunction(pair.Get("1"))
		if !ok {
			t.Fatal("not a function")
		}
		out = append(out, builtinCall{pair.Get("0").String(), call})
	}
	return out
}
