package expr

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func conditionalOperators() []definition {
	return []definition{
		{name: "$cond", family: "conditional", min: 3, max: 3, parse: parseCond},
		{name: "$ifNull", family: "conditional", min: 2, max: -1, parse: parseIfNull},
		{name: "$switch", family: "conditional", min: 1, max: 1, parse: parseSwitch},
	}
}

// switchExpr is $cond and $switch: the value of the first branch whose condition is true.
type switchExpr struct {
	cases, thens []Expr
	otherwise    Expr // nil where there is no default
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
		return bsonx.Missing, mongoerr.New(40066, "$switch could not find a matching branch for an input, and no default was specified.")
	}
	return s.otherwise.Eval(ctx)
}

func (s *switchExpr) children() []Expr {
	all := append(append([]Expr(nil), s.cases...), s.thens...)
	if s.otherwise != nil {
		all = append(all, s.otherwise)
	}
	return all
}

func parseCond(p *parser, def *definition, arg bsonx.Value, vars *Vars) (Expr, error) {
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
	return &switchExpr{args[:1], args[1:2], args[2]}, nil
}

func (p *parser) parseNamedCond(arg bsonx.Value, vars *Vars) ([]Expr, error) {
	names := []string{"if", "then", "else"}
	args, err := p.namedArgs(arg, vars, 17083, "$cond", names...)
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

func parseSwitch(p *parser, _ *definition, arg bsonx.Value, vars *Vars) (Expr, error) {
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
			s.otherwise, err = p.operand(it.Value(), vars)
		default:
			err = mongoerr.New(40067, "$switch found an unknown argument: %s", it.Key())
		}
		if err != nil {
			return nil, err
		}
	}
	if len(s.cases) == 0 {
		return nil, mongoerr.New(40068, "$switch requires at least one branch.")
	}
	return s, nil
}

func (p *parser) parseBranches(s *switchExpr, list bsonx.Value, vars *Vars) error {
	if list.Type != bsonx.TypeArray {
		return mongoerr.New(40061, "$switch expected an array for 'branches', found: %s", list.Type)
	}
	for it := list.Doc().Iter(); it.Next(); {
		if it.Value().Type != bsonx.TypeDocument {
			return mongoerr.New(40062, "$switch expected each branch to be an object, found: %s", it.Value().Type)
		}
		pair, err := p.namedArgs(it.Value(), vars, 40063, "$switch branch", "case", "then")
		if err != nil {
			return err
		}
		if pair[0] == nil {
			return mongoerr.New(40064, "$switch requires each branch have a 'case' expression")
		}
		if pair[1] == nil {
			return mongoerr.New(40065, "$switch requires each branch have a 'then' expression.")
		}
		s.cases = append(s.cases, pair[0])
		s.thens = append(s.thens, pair[1])
	}
	return nil
}

// ifNull is the first operand that is not null, or the last.
type ifNull struct{ args []Expr }

func (n *ifNull) Eval(ctx *Context) (bsonx.Value, error) {
	var v bsonx.Value
	for _, e := range n.args {
		var err error
		if v, err = e.Eval(ctx); err != nil {
			return bsonx.Missing, err
		}
		if !nullish(v) {
			break
		}
	}
	return v, nil
}

func (n *ifNull) children() []Expr { return n.args }

func parseIfNull(p *parser, _ *definition, arg bsonx.Value, vars *Vars) (Expr, error) {
	args, err := p.operands(arg, vars)
	if err != nil {
		return nil, err
	}
	if len(args) < 2 {
		return nil, mongoerr.New(1257300, "$ifNull needs at least two arguments, had: %d", len(args))
	}
	return &ifNull{args}, nil
}
