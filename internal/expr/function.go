package expr

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/js"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func functionDefinition() Definition {
	return Definition{
		Name: "$function", Family: "miscellaneous", Parse: parseFunction, Arguments: []string{"=body", "args", "=lang"},
		Total: feature.No, Folds: feature.No, Depends: OnCode, StableAPI: feature.Yes,
		NotInValidator: mongoerr.New(4660800, "$function cannot be used inside a validator."),
	}
}

// functionExpr is $function: a call of a JavaScript function.
type functionExpr struct {
	fn   js.Func
	args Expr
}

// Eval calls the function. The limits and the operation come from the scope in which the expression
// was compiled.
func (f *functionExpr) Eval(ctx *Context) (bsonx.Value, error) {
	args, err := f.args.Eval(ctx)
	if err != nil {
		return bsonx.Missing, err
	}
	if args.Type != bsonx.TypeArray {
		return bsonx.Missing, mongoerr.New(31266, "The args field must be of type array")
	}
	return f.fn.Call(bsonx.Missing, args.Doc().Values()...)
}

// Children returns the args expression.
func (f *functionExpr) Children() []Expr { return []Expr{f.args} }

func parseFunction(p *Parser, _ *Definition, arg bsonx.Value, vars *Vars) (Expr, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(31260, "$function requires an object as an argument, found: %s", arg.Type)
	}
	spec := arg.Doc()
	body, err := functionBody(p, spec.Lookup("body"), vars)
	if err != nil {
		return nil, err
	}
	if spec.Lookup("args").IsMissing() {
		return nil, mongoerr.New(31263, "The args field must be specified.")
	}
	args, err := p.Operand(spec.Lookup("args"), vars.Unoptimized())
	if err != nil {
		return nil, err
	}
	switch lang := spec.Lookup("lang"); {
	case lang.IsMissing():
		return nil, mongoerr.New(31418, "The lang field must be specified.")
	case lang.Type != bsonx.TypeString || lang.Str() != "js":
		return nil, mongoerr.New(31419, "Currently the only supported language specifier is 'js'.")
	}
	fn, err := js.New(body, vars.Scripts())
	if err != nil {
		return nil, err
	}
	return &functionExpr{fn, args}, nil
}

// functionBody returns the source text of the function, which must be constant.
func functionBody(p *Parser, v bsonx.Value, vars *Vars) (string, error) {
	if v.IsMissing() {
		return "", mongoerr.New(31261, "The body function must be specified.")
	}
	e, err := p.Operand(v, vars)
	if err != nil {
		return "", err
	}
	body, ok := ConstValue(e)
	if !ok {
		return "", mongoerr.New(31432, "The body function must be a constant expression")
	}
	if body.Type != bsonx.TypeString && body.Type != bsonx.TypeCode {
		return "", mongoerr.New(31262, "The body function must evaluate to type string or code")
	}
	return body.Str(), nil
}

// WithScripts returns a scope with limits for JavaScript and with the interrupt signal of the
// operation.
func (v *Vars) WithScripts(opts js.Options) *Vars {
	scope := v.child()
	scope.scripts = &opts
	return scope
}

// Scripts returns the options of the innermost scope that has them, or the default options.
func (v *Vars) Scripts() js.Options {
	for s := v; s != nil; s = s.parent {
		if s.scripts != nil {
			return *s.scripts
		}
	}
	return js.Options{}
}
