package expr

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// Parser is the state of one call of Parse.
type Parser struct {
	depth int
	meter interrupt.Meter
}

// operandWork is the work of compiling one operand, in the units of interrupt.Meter.
const operandWork = 16 * interrupt.Step

// Parse compiles an expression. A string may be a field path or variable, and a document may be an
// operator or an object expression. Arrays are array expressions, and other values are literals.
// vars may be nil.
func Parse(v bsonx.Value, vars *Vars) (Expr, error) {
	p := &Parser{}
	return p.Operand(v, vars)
}

// ParseOperator compiles the operator name with the argument arg, like {name: arg}.
func ParseOperator(name string, arg bsonx.Value, vars *Vars) (Expr, error) {
	p := &Parser{}
	return p.operator(name, arg, vars)
}

// Operand compiles a sub-expression.
func (p *Parser) Operand(v bsonx.Value, vars *Vars) (Expr, error) {
	if err := p.meter.Did(operandWork, vars.Scripts().Running); err != nil {
		return nil, err
	}
	if err := vars.Hold(operandBytes); err != nil {
		return nil, err
	}
	switch v.Type {
	case bsonx.TypeString:
		if s := v.StrBytes(); len(s) > 0 && s[0] == '$' {
			if err := vars.Hold(pathBytes + int64(partBytes*bytes.Count(s, []byte{'.'})+len(s))); err != nil {
				return nil, err
			}
			return p.parsePath(string(s), vars)
		}
	case bsonx.TypeDocument:
		return p.object(v.Doc(), vars)
	case bsonx.TypeArray:
		args, err := p.Operands(v, vars)
		if err != nil {
			return nil, err
		}
		return constantOr(&arrayExpr{args, vars.Scripts().Running}, vars)
	default:
	}
	return &Const{v.Clone()}, nil
}

// Operands compiles the operands of an operator. v is an array of operands or a single operand.
func (p *Parser) Operands(v bsonx.Value, vars *Vars) ([]Expr, error) {
	if v.Type != bsonx.TypeArray {
		e, err := p.Operand(v, vars)
		if err != nil {
			return nil, err
		}
		return []Expr{e}, nil
	}
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > limits.ExpressionDepth {
		return nil, mongoerr.New(mongoerr.Overflow,
			"expression exceeds the maximum nesting depth of %d", limits.ExpressionDepth)
	}
	var args []Expr
	for it := v.Doc().Iter(); it.Next(); {
		e, err := p.Operand(it.Value(), vars)
		if err != nil {
			return nil, err
		}
		args = append(args, e)
	}
	return args, nil
}

func (p *Parser) object(d bsonx.Doc, vars *Vars) (Expr, error) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > limits.ExpressionDepth {
		return nil, mongoerr.New(mongoerr.Overflow,
			"expression exceeds the maximum nesting depth of %d", limits.ExpressionDepth)
	}
	first := d.First()
	if len(first.Key) > 0 && first.Key[0] == '$' {
		if d.Len() != 1 {
			return nil, mongoerr.New(15983, "An object representing an expression must have exactly one field: %s", bsonx.FormatShell(bsonx.Document(d)))
		}
		return p.operator(string(first.Key), first.Value, vars)
	}
	obj := &objectExpr{running: vars.Scripts().Running}
	seen := map[string]bool{}
	for it := d.Iter(); it.Next(); {
		name := string(it.Key())
		if err := checkFieldName(name); err != nil {
			return nil, err
		}
		if seen[name] {
			return nil, mongoerr.New(16406, "duplicate field name specified in object literal: %s",
				bsonx.FormatShell(bsonx.Document(d)))
		}
		seen[name] = true
		e, err := p.Operand(it.Value(), vars)
		if err != nil {
			return nil, err
		}
		obj.names = append(obj.names, name)
		obj.values = append(obj.values, e)
	}
	return constantOr(obj, vars)
}

func (p *Parser) operator(name string, arg bsonx.Value, vars *Vars) (Expr, error) {
	def := vars.Operators().find(name)
	if def == nil {
		return nil, mongoerr.New(mongoerr.InvalidPipelineOperator, "Unrecognized expression '%s'", name)
	}
	if def.Parse == nil {
		return nil, mongoerr.New(mongoerr.NotImplemented, "the expression %s is not implemented", name)
	}
	if def.StableAPI != feature.Yes {
		if err := vars.CheckStable(name); err != nil {
			return nil, err
		}
	}
	e, err := def.Parse(p, def, arg, vars)
	if err != nil {
		return nil, err
	}
	if def.Folds != feature.Yes {
		return e, nil
	}
	return fold(e, vars)
}

// arguments compiles the operands of def and checks their number against Min and Max.
func (p *Parser) arguments(def *Definition, arg bsonx.Value, vars *Vars) ([]Expr, error) {
	return p.counted(def, def.Min, def.Max, arg, vars)
}

// counted compiles the operands of def. It fails if their number is not from minArgs to maxArgs.
func (p *Parser) counted(def *Definition, minArgs, maxArgs int, arg bsonx.Value, vars *Vars) ([]Expr, error) {
	args, err := p.Operands(arg, vars)
	if err != nil {
		return nil, err
	}
	return args, def.checkArity(len(args), minArgs, maxArgs)
}

func (d *Definition) checkArity(n, minArgs, maxArgs int) error {
	name := cmp.Or(d.Called, d.Name)
	switch {
	case maxArgs == minArgs && n != minArgs:
		return mongoerr.New(16020, "Expression %s takes exactly %d arguments. %d were passed in.", name, minArgs, n)
	case n < minArgs || maxArgs >= 0 && n > maxArgs:
		return mongoerr.New(28667, "Expression %s takes at least %d arguments, and at most %d, but %d were passed in.",
			name, minArgs, maxArgs, n)
	}
	return nil
}

// NamedArgs compiles the named arguments in the document arg, in document order, because the order
// decides which of several errors is reported. All names in the document must be in names. The
// results are in the order of names; an absent argument is nil.
func (p *Parser) NamedArgs(arg bsonx.Value, vars *Vars, unknown UnknownArgument, op string,
	names ...string,
) ([]Expr, error) {
	raw, order, unknownErr := OrderedArgs(arg, unknown, op, names)
	out, err := p.ArgsIn(order, raw, vars)
	if err != nil {
		return nil, err
	}
	return out, unknownErr
}

// ArgsIn compiles the arguments raw in the given order. Missing arguments give nil. raw[i] is
// compiled in scopes[i], or in the last scope if there are fewer scopes. Errors of constants are
// recorded in the order of raw, in which MongoDB optimises.
func (p *Parser) ArgsIn(order []int, raw []bsonx.Value, scopes ...*Vars) ([]Expr, error) {
	out := make([]Expr, len(raw))
	failures := make([]Failures, len(raw))
	noted := scopes[0].Failures()
	for _, i := range order {
		if raw[i].IsMissing() {
			continue
		}
		vars := scopes[min(i, len(scopes)-1)]
		if noted != nil {
			vars = vars.WithFailures(&failures[i])
		}
		var err error
		if out[i], err = p.Operand(raw[i], vars); err != nil {
			return nil, err
		}
	}
	for i := range failures {
		noted.Add(failures[i].Err())
	}
	return out, nil
}

// FromLast returns the order n-1, …, 0. MongoDB compiles arguments in this order if C++ evaluates
// them as arguments of one call.
func FromLast(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = n - 1 - i
	}
	return order
}

// UnknownArgument is the error for a named argument that the operator does not have. Text has two
// parameters: the names of the operator and of the argument.
type UnknownArgument struct {
	Code mongoerr.Code
	Text string
}

// Values of UnknownArgument.Text.
const (
	FoundUnknown          = "%s found an unknown argument: %s"
	UnrecognizedParameter = "Unrecognized parameter to %s: %s"
	UnrecognizedArgument  = "Unrecognized argument to %s: %s"
)

// RawArgs returns named arguments without compiling them, in the order of names.
func RawArgs(arg bsonx.Value, unknown UnknownArgument, op string, names ...string) ([]bsonx.Value, error) {
	raw, _, err := OrderedArgs(arg, unknown, op, names)
	return raw, err
}

// OrderedArgs returns named arguments in the order of names. order lists their positions in
// document order, up to an argument with an unknown name.
func OrderedArgs(arg bsonx.Value, unknown UnknownArgument, op string,
	names []string,
) (raw []bsonx.Value, order []int, err error) {
	raw = make([]bsonx.Value, len(names))
	for it := arg.Doc().Iter(); it.Next(); {
		i := slices.Index(names, string(it.Key()))
		if i < 0 {
			return raw, order, mongoerr.New(unknown.Code, unknown.Text, op, string(it.Key()))
		}
		raw[i], order = it.Value(), append(order, i)
	}
	return raw, order, nil
}
