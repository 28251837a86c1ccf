package accumulator

import (
	"sync"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/js"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func accumulatorDefinition() Definition {
	return Definition{
		Name: "$accumulator", Parse: parseScripted,
		Arguments: []string{"=init", "initArgs", "=accumulate", "accumulateArgs", "=merge", "=finalize", "=lang"},
		Depends:   expr.OnCode, StableAPI: feature.Yes, Window: NoWindow, InputOrder: feature.No,
	}
}

// scripted is a compiled $accumulator. It has a pool of JavaScript engines, one for each goroutine
// that uses it at the same time.
type scripted struct {
	// The JavaScript functions. init gets the initial arguments and returns the state. accumulate
	// gets the state and the arguments of one document, and returns the new state. merge combines
	// two states. finalize turns the state into the result; it may be empty.
	init, accumulate, merge, finalize string

	opts    js.Options
	engines sync.Pool // elements are *scriptedEngine
}

// scriptedEngine is a JavaScript engine with the compiled functions of one $accumulator.
type scriptedEngine struct {
	interp                            js.Interp
	init, accumulate, merge, finalize js.Routine
}

func (s *scripted) newEngine() (*scriptedEngine, error) {
	interp, err := js.NewInterp(s.opts)
	if err != nil {
		return nil, err
	}
	e := &scriptedEngine{interp: interp}
	for _, f := range []struct {
		code string
		to   *js.Routine
	}{{s.init, &e.init}, {s.accumulate, &e.accumulate}, {s.merge, &e.merge}, {s.finalize, &e.finalize}} {
		if f.code == "" {
			continue
		}
		if *f.to, err = interp.Compile(f.code); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// use runs call with an engine from the pool. An engine is not used again after an error.
func (s *scripted) use(call func(*scriptedEngine) (bsonx.Value, error)) (bsonx.Value, error) {
	e, ok := s.engines.Get().(*scriptedEngine)
	if !ok {
		var err error
		if e, err = s.newEngine(); err != nil {
			return bsonx.Missing, err
		}
	}
	v, err := call(e)
	if err == nil {
		s.engines.Put(e)
	}
	return v, err
}

// start calls the init function for a new group.
func (s *scripted) start(args bsonx.Value) (Accumulator, error) {
	if args.Type != bsonx.TypeArray {
		return nil, mongoerr.New(4544711, "$accumulator initArgs must evaluate to an array: %s", expr.Show(args))
	}
	state, err := s.use(func(e *scriptedEngine) (bsonx.Value, error) {
		return e.interp.Call(s.opts.Running.Context(), e.init, bsonx.Missing, args.Doc().Values()...)
	})
	if err != nil {
		return nil, err
	}
	return &scriptedAccumulator{scripted: s, state: state}, nil
}

// scriptedAccumulator is $accumulator for one group. It buffers the arguments of documents, because
// one call of the engine for many documents is cheaper.
type scriptedAccumulator struct {
	*scripted
	state bsonx.Value
	// pending contains buffered arguments, one array per document. While states are merged, each
	// array contains one state.
	pending []bsonx.Value
	merging bool
	bytes   int // the bytes of pending
	result  bsonx.Value
}

// Limits of a scriptedAccumulator. The first two limit the number and the bytes of the buffered
// arguments.
const (
	maxPendingCalls = 256
	maxPendingBytes = 64 << 10
	// maxScriptArgs is the largest size in bytes of the state and arguments passed to one function
	// call.
	maxScriptArgs = limits.DocumentBytes
)

// Add adds an array with the arguments of the accumulate function.
func (a *scriptedAccumulator) Add(v bsonx.Value) error {
	if v.Type != bsonx.TypeArray {
		return mongoerr.New(4544712, "$accumulator accumulateArgs must evaluate to an array: %s", expr.Show(v))
	}
	return a.wait(v, false)
}

// Merge adds the state of another accumulator.
func (a *scriptedAccumulator) Merge(state bsonx.Value) error {
	return a.wait(bsonx.Array(bsonx.NewArray(state).Doc()), true)
}

func (a *scriptedAccumulator) wait(args bsonx.Value, merging bool) error {
	if merging != a.merging {
		if err := a.flush(); err != nil {
			return err
		}
		a.merging = merging
	}
	a.pending = append(a.pending, args.Clone())
	a.bytes += valueBytes + len(args.Data)
	if size := len(args.Data) + len(a.state.Data); size > maxScriptArgs {
		return mongoerr.New(4545000, "$accumulator arguments exceed max BSON size: %d", size)
	}
	if len(a.pending) >= maxPendingCalls || a.bytes >= maxPendingBytes {
		return a.flush()
	}
	return nil
}

// flush calls accumulate or merge for the buffered arguments.
func (a *scriptedAccumulator) flush() error {
	if len(a.pending) == 0 {
		return nil
	}
	state, err := a.use(func(e *scriptedEngine) (bsonx.Value, error) {
		fn := e.accumulate
		if a.merging {
			fn = e.merge
		}
		return e.interp.Fold(a.opts.Running.Context(), fn, a.state, a.pending)
	})
	if err != nil {
		return err
	}
	clear(a.pending)
	a.state, a.pending, a.bytes = state, a.pending[:0], 0
	return nil
}

// Finish implements finisher.
func (a *scriptedAccumulator) Finish(last bool) (err error) {
	if err := a.flush(); err != nil || !last {
		return err
	}
	a.result = a.state
	if a.finalize == "" {
		return nil
	}
	a.result, err = a.use(func(e *scriptedEngine) (bsonx.Value, error) {
		return e.interp.Call(a.opts.Running.Context(), e.finalize, bsonx.Missing, a.state)
	})
	return err
}

func (a *scriptedAccumulator) Result() bsonx.Value { return a.result }
func (a *scriptedAccumulator) State() bsonx.Value  { return a.state }

func (a *scriptedAccumulator) Bytes() int { return scriptedBytes + len(a.state.Data) + a.bytes }

// scriptedBytes estimates the memory of a scriptedAccumulator in bytes, without its values.
const scriptedBytes = 160

func parseScripted(name string, arg bsonx.Value, vars *expr.Vars) (*Accumulation, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(4544703, "$accumulator expects an object as an argument; found: %s", arg.Type)
	}
	s := &scripted{opts: vars.Scripts()}
	out := &Accumulation{Name: name, Init: &expr.Const{Value: bsonx.NewArray()}, start: s.start}
	for it := arg.Doc().Iter(); it.Next(); {
		v := it.Value()
		var err error
		switch key := string(it.Key()); key {
		case "init":
			s.init, err = scriptOf(key, v, vars)
		case "accumulate":
			s.accumulate, err = scriptOf(key, v, vars)
		case "merge":
			s.merge, err = scriptOf(key, v, vars)
		case "finalize":
			s.finalize, err = scriptOf(key, v, vars)
		case "initArgs":
			out.Init, err = expr.Parse(v, vars)
		case "accumulateArgs":
			out.Arg, err = expr.Parse(v, vars)
		case "lang":
			err = checkLanguage(v)
		default:
			err = mongoerr.New(4544706, "$accumulator got an unexpected field: %s", key)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := checkScripted(s, out.Arg); err != nil {
		return nil, err
	}
	// Creating an engine now reports syntax errors in the functions. The first group uses this
	// engine.
	e, err := s.newEngine()
	if err != nil {
		return nil, err
	}
	s.engines.Put(e)
	return out, nil
}

// scriptOf returns the source text of a function, given as a constant string or JavaScript code.
func scriptOf(field string, v bsonx.Value, vars *expr.Vars) (string, error) {
	e, err := expr.Parse(v, vars)
	if err != nil {
		return "", err
	}
	code, ok := expr.ConstValue(e)
	if !ok {
		return "", mongoerr.New(4544701, "$accumulator '%s' must be a constant expression", field)
	}
	if code.Type != bsonx.TypeString && code.Type != bsonx.TypeCode {
		return "", mongoerr.New(4544702, "$accumulator '%s' must be a String or Code", field)
	}
	return code.Str(), nil
}

func checkLanguage(v bsonx.Value) error {
	if v.Type != bsonx.TypeString {
		return mongoerr.New(4544704, "$accumulator lang must be a string; found: %s", v.Type)
	}
	if v.Str() != "js" {
		return mongoerr.New(4544705, "$accumulator only supports lang: 'js'")
	}
	return nil
}

// checkScripted returns an error if a required argument is missing. MongoDB does not require lang.
func checkScripted(s *scripted, args expr.Expr) error {
	missing := func(code mongoerr.Code, name string) error {
		return mongoerr.New(code, "$accumulator missing required argument '%s'", name)
	}
	switch {
	case s.init == "":
		return missing(4544707, "init")
	case s.accumulate == "":
		return missing(4544708, "accumulate")
	case s.merge == "":
		return missing(4544709, "merge")
	case args == nil:
		return missing(4544710, "accumulateArgs")
	}
	return nil
}
