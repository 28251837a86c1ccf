package js

import (
	"crypto/md5" // what scripts call hex_md5
	"encoding/hex"

	"github.com/dop251/goja"
)

// setNatives defines the functions that the prelude builds on. It takes them away from user code again.
func (e *engine) setNatives() error {
	natives := map[string]func(goja.FunctionCall) goja.Value{
		"_bsonsize": func(call goja.FunctionCall) goja.Value {
			v, err := e.toBSON(call.Argument(0))
			if err != nil {
				panic(e.rt.NewGoError(err))
			}
			return e.rt.ToValue(len(v.Data))
		},
		"_equal": func(call goja.FunctionCall) goja.Value {
			a, err := e.toBSON(call.Argument(0))
			if err != nil {
				panic(e.rt.NewGoError(err))
			}
			b, err := e.toBSON(call.Argument(1))
			if err != nil {
				panic(e.rt.NewGoError(err))
			}
			return e.rt.ToValue(a.Identical(b))
		},
		"hex_md5": func(call goja.FunctionCall) goja.Value {
			sum := md5.Sum([]byte(call.Argument(0).String()))
			return e.rt.ToValue(hex.EncodeToString(sum[:]))
		},
	}
	for name, fn := range natives {
		if err := e.rt.Set(name, fn); err != nil {
			return err
		}
	}
	return nil
}
