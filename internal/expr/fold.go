package expr

import (
	"sync"
	"sync/atomic"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/memory"
)

// Failures records the first error of a constant expression that is parsed in its scope
// (WithFailures). MongoDB evaluates constant expressions when it optimises a pipeline or query,
// even if no document would ever reach them.
type Failures struct {
	// Copied reports that MongoDB copies the expressions after it has optimised them, as it does
	// for a query. The copy loses what an operator has prepared, but keeps constants.
	Copied bool

	first atomic.Pointer[error]

	// The memory of the expressions in the scope. It is counted in total, because a statement may
	// have many small expressions.
	mu   sync.Mutex
	held memory.Tally
}

// Err returns the first error, or nil. f may be nil.
func (f *Failures) Err() error {
	if f == nil {
		return nil
	}
	if err := f.first.Load(); err != nil {
		return *err
	}
	return nil
}

// Add records err unless it is nil. With a nil Failures it does nothing.
func (f *Failures) Add(err error) {
	if f != nil && err != nil {
		f.first.CompareAndSwap(nil, &err)
	}
}

// WithFailures returns a scope in which errors of constant expressions are recorded in f; a nil f
// records nothing. In any case, the expression also returns the error when it is evaluated. The
// scope v may be nil.
func (v *Vars) WithFailures(f *Failures) *Vars {
	if v.Failures() == f {
		return v
	}
	scope := v.child()
	scope.failures = f
	return scope
}

// Failures returns the Failures of the scope, or nil.
func (v *Vars) Failures() *Failures {
	if v == nil {
		return nil
	}
	return v.failures
}

// Unoptimized returns the scope for operands that MongoDB does not optimise: errors of constants
// are not recorded.
func (v *Vars) Unoptimized() *Vars { return v.WithFailures(nil) }

// fold replaces e by a constant if all its operands are constant. If the evaluation fails, the
// error is recorded and e stays. fold fails if the value exceeds the memory limit of the operation.
func fold(e Expr, vars *Vars) (Expr, error) {
	kids := e.Children()
	if _, isCall := e.(*CallN); len(kids) == 0 && !isCall || !AllConst(kids) {
		return e, nil
	}
	v, err := e.Eval(&Context{})
	if err != nil {
		vars.Failures().Add(err)
		return e, nil
	}
	return &Const{v.Clone()}, holdConstant(v, kids, vars)
}

// constantOr is fold also for nodes without children, such as an empty array. It does not record
// errors.
func constantOr(e Expr, vars *Vars) (Expr, error) {
	kids := e.Children()
	if !AllConst(kids) {
		return e, nil
	}
	v, err := e.Eval(&Context{})
	if err != nil {
		return e, nil //nolint:nilerr // the expression fails again when it is evaluated
	}
	return &Const{v.Clone()}, holdConstant(v, kids, vars)
}

// holdConstant reserves the memory of a folded value v until the operation ends. It subtracts the
// size of the operands: they are counted elsewhere, and v replaces them.
func holdConstant(v bsonx.Value, operands []Expr, vars *Vars) error {
	grown := len(v.Data)
	for _, e := range operands {
		if c, ok := e.(*Const); ok {
			grown -= len(c.Value.Data)
		}
	}
	if err := vars.Hold(-operandBytes * int64(len(operands))); err != nil {
		return err
	}
	return memory.Of(vars.Scripts().Running.Context()).Add(int64(grown))
}

// Estimates of memory in bytes: of an operand, of a path in addition, and of each component of the
// path.
const (
	operandBytes = 48
	pathBytes    = 72
	partBytes    = 20
)

// Hold reserves n bytes for a compiled statement until its operation ends. A scope without Failures
// reserves nothing.
func (v *Vars) Hold(n int64) error {
	f := v.Failures()
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.held.Add(v.Scripts().Running.Context(), n)
}

// AllConst reports whether all operands that are not absent are constant.
func AllConst(args []Expr) bool {
	for _, e := range args {
		if _, ok := e.(*Const); e != nil && !ok {
			return false
		}
	}
	return true
}

// Association tells which operands of an operator can be combined before the others are known.
type Association byte

// Values of Association.
const (
	AssocNone Association = iota
	// AssocLeft combines constants at the beginning, because the order of additions changes a sum
	// of doubles.
	AssocLeft
	AssocFull  // adjacent constants
	Commutable // all constants, which are moved to the end
)

// combine evaluates sequences of at least two constants among the operands, as far as the
// operator's Association permits, and replaces them in the call. If the evaluation of a sequence
// fails, the error is recorded and the sequence stays. In a scope without Failures, MongoDB does
// not optimise: constants are not moved, because the first operand that is null or invalid decides
// the result. combine fails if a value exceeds the memory limit of the operation.
func (c *CallN) combine(vars *Vars) error {
	how := c.Def.Association
	if how == Commutable && vars.Failures() == nil || AllConst(c.Args) {
		return nil
	}
	var out, run []Expr
	var exceeded error
	flush := func() {
		values, err := c.value(run, vars)
		if exceeded == nil {
			exceeded = err
		}
		out, run = append(out, values...), nil
	}
	for i, e := range c.flattened(how) {
		if _, ok := e.(*Const); ok && (how != AssocLeft || i == len(run)) {
			run = append(run, e)
			continue
		}
		if how != Commutable {
			flush()
		}
		out = append(out, e)
	}
	flush()
	c.Args = out
	return exceeded
}

// flattened returns the operands, with nested calls of the same operator replaced by their
// operands. A single operand is not replaced: if the nested call returns an array, $min would
// search it, but not if it were one of several operands.
func (c *CallN) flattened(how Association) []Expr {
	if how == AssocLeft || len(c.Args) == 1 {
		return c.Args
	}
	var out []Expr
	for _, e := range c.Args {
		if nested, ok := e.(*CallN); ok && nested.Def == c.Def && len(nested.Args) > 1 {
			out = append(out, nested.Args...)
			continue
		}
		out = append(out, e)
	}
	return out
}

// value returns a sequence of constants combined into one constant, or run itself if that is not
// possible.
func (c *CallN) value(run []Expr, vars *Vars) ([]Expr, error) {
	if len(run) < 2 {
		return run, nil
	}
	values := make([]bsonx.Value, len(run))
	for i, e := range run {
		values[i] = e.(*Const).Value
	}
	v, err := c.Fn(&bsonx.Arena{}, values)
	if err != nil {
		vars.Failures().Add(err)
		return run, nil
	}
	return []Expr{&Const{v}}, holdConstant(v, run, vars)
}
