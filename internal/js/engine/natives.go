package engine

import (
	"crypto/md5" // for the function hex_md5
	"encoding/hex"
	"errors"
	"time"

	"github.com/dop251/goja"

	"github.com/sheafdb/sheaf/internal/clock"
)

// setNatives defines the Go functions that the prelude uses. The prelude removes _bsonsize and
// _equal before user code runs.
func (e *engine) setNatives() error {
	natives := map[string]func(goja.FunctionCall) goja.Value{
		"_bsonsize": func(call goja.FunctionCall) goja.Value {
			v, err := e.convert.toBSON(call.Argument(0))
			if err != nil {
				panic(e.rt.NewGoError(err))
			}
			return e.rt.ToValue(len(v.Data))
		},
		"_equal": func(call goja.FunctionCall) goja.Value {
			a, err := e.convert.toBSON(call.Argument(0))
			if err != nil {
				panic(e.rt.NewGoError(err))
			}
			b, err := e.convert.toBSON(call.Argument(1))
			if err != nil {
				panic(e.rt.NewGoError(err))
			}
			return e.rt.ToValue(a.Identical(b))
		},
		"hex_md5": func(call goja.FunctionCall) goja.Value {
			if _, ok := call.Argument(0).(goja.String); !ok || len(call.Arguments) != 1 {
				panic(e.rt.NewGoError(errors.New("hex_md5 takes a single string argument")))
			}
			sum := md5.Sum([]byte(call.Argument(0).String()))
			return e.rt.ToValue(hex.EncodeToString(sum[:]))
		},
		"sleep": e.sleep,
		// The garbage collector belongs to the process, so scripts cannot start it.
		"gc":      func(goja.FunctionCall) goja.Value { return goja.Undefined() },
		"version": func(goja.FunctionCall) goja.Value { return e.rt.ToValue("goja") },
		// A mapReduce replaces this function.
		"emit": func(goja.FunctionCall) goja.Value {
			panic(e.rt.NewGoError(errors.New("emit() is only available in the map function of a mapReduce")))
		},
	}
	for name, fn := range natives {
		if err := e.rt.Set(name, fn); err != nil {
			return err
		}
	}
	return nil
}

// sleep waits for a number of milliseconds, or until the call ends.
func (e *engine) sleep(call goja.FunctionCall) goja.Value {
	if len(call.Arguments) != 1 || !isNumber(call.Argument(0)) {
		panic(e.rt.NewGoError(errors.New("sleep takes a single numeric argument")))
	}
	millis := min(max(call.Argument(0).ToFloat(), 0),
		float64(e.watch.deadline.Sub(clock.Computer.Now()).Milliseconds()+1))
	// The error is ignored, because the call itself ends with its context.
	_ = clock.Sleep(e.watch.ctx, clock.Computer, time.Duration(millis*float64(time.Millisecond)))
	return goja.Undefined()
}

func isNumber(v goja.Value) bool {
	if _, ok := v.(*goja.Object); ok {
		return false // exporting an object would copy it
	}
	switch v.Export().(type) {
	case int64, float64:
		return true
	default:
		return false
	}
}
