package expr

import (
	"sync"
	"sync/atomic"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/memory"
)

// Failures keeps the first error of an expression of constants that was parsed in a scope with it
// (WithFailures). MongoDB evaluates such expressions when it optimises a pipeline or a query, also
// where no document would ever reach them.
type Failures struct {
	// Copied says that MongoDB copies the expressions after it has optimised them, as those of a
	// query: what an operator prepared is lost, but constants stay.
	Copied bool

	first atomic.Pointer[error]

	// What the expressions of the scope take is added up here: a statement may have many small
	// ones.
	mu   sync.Mutex
	held memory.Tally
}

// Err returns the first error, or nil.
func (f *Failures) Err() error {
	if f == nil {
		return nil
	}
	if err := f.first.Load(); err != nil {
		return *err
	}
	return nil
}

// Add notes an error that is not nil. A nil Failures notes none.
func (f *Failures) Add(err error) {
	if f != nil && err != nil {
		f.first.CompareAndSwap(nil, &err)
	}
}

// WithFailures returns the scope in which expressions of constants that fail are noted in f; nil
// notes none. In each case the expression fails too where it is evaluated. The scope may be nil.
func (v *Vars) WithFailures(f *Failures) *Vars {
	if v.Failures() == f {
		return v
	}
	scope := v.child()
	scope.failures = f
	return scope
}

// Failures returns what notes the failures of the scope, or nil.
func (v *Vars) Failures() *Failures {
	if v == nil {
		return nil
	}
	return v.failures
}

// Unoptimized is the scope of operands that MongoDB does not optimise: they fail only where they
// are evaluated.
func (v *Vars) Unoptimized() *Vars { return v.WithFailures(nil) }

// fold replaces an expression of constants by its value. One that fails is noted, and stays. fold
// fails where the value exceeds the memory that the operation may hold.
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

// constantOr folds also a node without children, such as an empty array. A value that cannot be
// computed is not noted.
func constantOr(e Expr, vars *Vars) (Expr, error) {
	kids := e.Children()
	if !AllConst(kids) {
		return e, nil
	}
	v, err := e.Eval(&Context{})
	if err != nil {
		return e, nil //nolint:nilerr // it fails again where it is evaluated
	}
	return &Const{v.Clone()}, holdConstant(v, kids, vars)
}

// holdConstant counts the value of an expression until the operation ends, without its operands:
// they are the command's own, or were counted before, and nobody keeps them.
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

// The bytes that an operand takes, about, and what a path takes beyond them, for each of its parts.
const (
	operandBytes = 48
	pathBytes    = 72
	partBytes    = 20
)

// Hold counts n bytes of a compiled statement until its operation ends: of its expressions, and of
// what stands beside them. A scope without Failures counts nothing.
func (v *Vars) Hold(n int64) error {
	f := v.Failures()
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.held.Add(v.Scripts().Running.Context(), n)
}

// AllConst reports that every operand that is present is constant.
func AllConst(args []Expr) bool {
	for _, e := range args {
		if _, ok := e.(*Const); e != nil && !ok {
			return false
		}
	}
	return true
}

// Association says which operands of an operator may be combined before the others are known.
type Association byte

// The kinds of association.
const (
	AssocNone  Association = iota
	AssocLeft              // constants at the beginning: the order of additions changes a sum of doubles
	AssocFull              // constants beside each other
	Commutable             // all constants, which are moved to the end
)

// combine evaluates runs of two and more constants among the operands of a call, as far as its
// operator is associative. It changes the call. A run that fails is noted, and stays. Where nothing
// is noted MongoDB does not optimise: no constant is moved, since the first operand that is null or
// wrong decides. It fails where a value exceeds the memory that the operation may hold.
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

// flattened returns the operands with those of nested calls of the same operator in their place.
// One operand is not taken apart: what is an array as the result of the nested call would be looked
// into by $min, not as one of several operands.
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

// value returns the constant that a run of constants has as operands of the call.
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
