package expr

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func condDefinition() Definition {
	return Definition{
		Name: "$cond", Family: "conditional", Min: 3, Max: 3, Parse: parseCond, Form: condForm,
		Total: feature.Yes, Folds: feature.Yes, Depends: OnOperands, StableAPI: feature.Yes,
	}
}

func ifNullDefinition() Definition {
	return Definition{
		Name: "$ifNull", Family: "conditional", Parse: parseIfNull, Form: ifNullForm,
		Total: feature.Yes, Folds: feature.Yes, Depends: OnOperands, StableAPI: feature.Yes,
	}
}

// switchDefinition defines $switch. The node decides whether it is total, because only a $switch
// with a default is.
func switchDefinition() Definition {
	return Definition{
		Name: "$switch", Family: "conditional", Parse: parseSwitch, Form: switchForm,
		Total: feature.No, Folds: feature.Yes, Depends: OnOperands, StableAPI: feature.Yes,
	}
}

// switchExpr is $cond or $switch: the value of the first branch whose condition is true.
type switchExpr struct {
	cases, thens []Expr
	otherwise    Expr // nil without a default
}

func (s *switchExpr) Eval(ctx *Context) (bsonx.Value, error) {
	for i, c := range s.cases {
		v, err := c.Eval(ctx)
		if err != nil {
			return bsonx.Missing, err
		}
		if v.Truthy() {
			return s.thens[i].Eval(ctx)
		}
	}
	if s.otherwise == nil {
		return bsonx.Missing, errNoBranch()
	}
	return s.otherwise.Eval(ctx)
}

func (s *switchExpr) Children() []Expr {
	all := append(append([]Expr(nil), s.cases...), s.thens...)
	if s.otherwise != nil {
		all = append(all, s.otherwise)
	}
	return all
}

// Total reports whether every document has a branch, which needs a default.
func (s *switchExpr) Total() bool { return s.otherwise != nil }

func parseCond(p *Parser, def *Definition, arg bsonx.Value, vars *Vars) (Expr, error) {
	var args []Expr
	var err error
	if arg.Type == bsonx.TypeDocument {
		args, err = p.parseNamedCond(arg, vars)
	} else {
		args, err = p.arguments(def, arg, vars)
	}
	if err != nil {
		return nil, err
	}
	if c, ok := args[0].(*Const); ok {
		if c.Value.Truthy() {
			return args[1], nil
		}
		return args[2], nil
	}
	return &switchExpr{args[:1], args[1:2], args[2]}, nil
}

func (p *Parser) parseNamedCond(arg bsonx.Value, vars *Vars) ([]Expr, error) {
	names := []string{"if", "then", "else"}
	args, err := p.NamedArgs(arg, vars, UnknownArgument{Code: 17083, Text: UnrecognizedParameter}, "$cond", names...)
	if err != nil {
		return nil, err
	}
	for i, e := range args {
		if e == nil {
			return nil, mongoerr.New(mongoerr.Code(17080+i), "Missing '%s' parameter to $cond", names[i])
		}
	}
	return args, nil
}

func parseSwitch(p *Parser, _ *Definition, arg bsonx.Value, vars *Vars) (Expr, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(40060, "$switch requires an object as an argument, found: %s", arg.Type)
	}
	s := &switchExpr{}
	for it := arg.Doc().Iter(); it.Next(); {
		var err error
		switch string(it.Key()) {
		case "branches":
			err = p.parseBranches(s, it.Value(), vars)
		case "default":
			s.otherwise, err = p.Operand(it.Value(), vars)
		default:
			err = mongoerr.New(40067, "$switch found an unknown argument: %s", it.Key())
		}
		if err != nil {
			return nil, err
		}
	}
	if len(s.cases) == 0 {
		return nil, mongoerr.New(40068, "$switch requires at least one branch")
	}
	return s.simplified(vars.Failures()), nil
}

// simplified removes branches whose condition is constant. A branch with a true condition becomes
// the default, and later branches are dropped.
func (s *switchExpr) simplified(failures *Failures) Expr {
	out := &switchExpr{otherwise: s.otherwise}
	for i, e := range s.cases {
		c, ok := e.(*Const)
		if !ok {
			out.cases, out.thens = append(out.cases, e), append(out.thens, s.thens[i])
			continue
		}
		if c.Value.Truthy() {
			out.otherwise = s.thens[i]
			break
		}
	}
	switch {
	case len(out.cases) > 0:
		return out
	case out.otherwise != nil:
		return out.otherwise
	}
	failures.Add(errAllFalse())
	return s
}

func (p *Parser) parseBranches(s *switchExpr, list bsonx.Value, vars *Vars) error {
	if list.Type != bsonx.TypeArray {
		return mongoerr.New(40061, "$switch expected an array for 'branches', found: %s", list.Type)
	}
	for it := list.Doc().Iter(); it.Next(); {
		if it.Value().Type != bsonx.TypeDocument {
			return mongoerr.New(40062, "$switch expected each branch to be an object, found: %s", it.Value().Type)
		}
		raw, err := RawArgs(it.Value(),
			UnknownArgument{
				Code: 40063,
				Text: "%s found an unknown argument to a branch: %s",
			}, "$switch", "case", "then")
		if err != nil {
			return err
		}
		if vars, err = p.parseBranch(s, raw[0], raw[1], vars); err != nil {
			return err
		}
	}
	return nil
}

// parseBranch compiles a branch of $switch and returns the scope for the following branches.
// MongoDB does not optimise expressions that a constant case makes unreachable: the result of a
// false case, or everything after a true case. Their scope has no Failures.
func (p *Parser) parseBranch(s *switchExpr, rawWhen, rawThen bsonx.Value, vars *Vars) (*Vars, error) {
	if rawWhen.IsMissing() {
		return nil, mongoerr.New(40064, "$switch requires each branch have a 'case' expression")
	}
	when, err := p.Operand(rawWhen, vars)
	if err != nil {
		return nil, err
	}
	if rawThen.IsMissing() {
		return nil, mongoerr.New(40065, "$switch requires each branch have a 'then' expression.")
	}
	constant, isConstant := when.(*Const)
	inner := vars
	if isConstant && !constant.Value.Truthy() {
		inner = vars.Unoptimized()
	}
	then, err := p.Operand(rawThen, inner)
	if err != nil {
		return nil, err
	}
	s.cases, s.thens = append(s.cases, when), append(s.thens, then)
	if isConstant && constant.Value.Truthy() {
		vars = vars.Unoptimized()
	}
	return vars, nil
}

// ifNull is $ifNull: the first operand that is not null, or the last operand.
type ifNull struct{ args []Expr }

func (n *ifNull) Eval(ctx *Context) (bsonx.Value, error) {
	var v bsonx.Value
	for _, e := range n.args {
		var err error
		if v, err = e.Eval(ctx); err != nil {
			return bsonx.Missing, err
		}
		if !Nullish(v) {
			break
		}
	}
	return v, nil
}

func (n *ifNull) Children() []Expr { return n.args }

// Total returns true: the node has a value for all values of its operands.
func (n *ifNull) Total() bool { return true }

// simplified removes the operands that never decide the result of $ifNull: all operands after the
// first constant that is not null, and the constants that are null. A null constant stays if it is
// the last operand, because it is then the result.
func (n *ifNull) simplified() Expr {
	var kept []Expr
	for i, e := range n.args {
		c, ok := e.(*Const)
		if ok && Nullish(c.Value) && i < len(n.args)-1 {
			continue
		}
		kept = append(kept, e)
		if ok {
			break
		}
	}
	if len(kept) == 1 {
		return kept[0]
	}
	return &ifNull{kept}
}

func parseIfNull(p *Parser, _ *Definition, arg bsonx.Value, vars *Vars) (Expr, error) {
	args, err := p.Operands(arg, vars)
	if err != nil {
		return nil, err
	}
	if len(args) < 2 {
		return nil, mongoerr.New(1257300, "$ifNull needs at least two arguments, had: %d", len(args))
	}
	return (&ifNull{args}).simplified(), nil
}

func condForm(s SerialScope, _ *Definition, arg bsonx.Value) Serial {
	list := arg.Doc().Values()
	if arg.Type == bsonx.TypeDocument {
		d := arg.Doc()
		list = []bsonx.Value{d.Lookup("if"), d.Lookup("then"), d.Lookup("else")}
	}
	args := s.Operands(list)
	if len(args) != 3 || !args[0].Constant {
		return Use("$cond", Forms(args))
	}
	if args[0].Form.Truthy() {
		return args[1]
	}
	return args[2]
}

// ifNullForm returns the form for explain, without constants that are null and without operands
// after a constant that is not null.
func ifNullForm(s SerialScope, _ *Definition, arg bsonx.Value) Serial {
	args := s.Operands(arg.Doc().Values())
	var open []Serial
	for i, v := range args {
		last := i == len(args)-1
		if v.Constant && Nullish(v.Form) && !last {
			continue
		}
		open = append(open, v)
		if v.Constant {
			break
		}
	}
	if len(open) == 1 {
		return open[0]
	}
	return Use("$ifNull", Forms(open))
}

func switchForm(s SerialScope, _ *Definition, arg bsonx.Value) Serial {
	var branches []bsonx.Value
	for _, branch := range arg.Doc().Lookup("branches").Doc().Values() {
		when, then := s.Operand(branch.Doc().Lookup("case")), s.Operand(branch.Doc().Lookup("then"))
		switch {
		case when.Constant && !when.Form.Truthy():
			continue
		case when.Constant && len(branches) == 0:
			return then
		}
		branches = append(branches, bsonx.Document(bsonx.NewDoc("case", when.Value(), "then", then.Value())))
	}
	args := bsonx.NewDoc("branches", branches)
	if v := arg.Doc().Lookup("default"); !v.IsMissing() {
		otherwise := s.Operand(v)
		if len(branches) == 0 {
			return otherwise
		}
		args = bsonx.NewDoc("branches", branches, "default", otherwise.Value())
	}
	return Use("$switch", bsonx.Document(args))
}
