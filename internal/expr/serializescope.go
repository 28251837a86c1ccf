package expr

import "github.com/sheafdb/sheaf/internal/bsonx"

// special returns how an operator is serialised that evaluates some operands only, or that binds variables; nil for
// others.
func (s serialScope) special(op string) func(arg bsonx.Value) serial {
	switch op {
	case "$and", "$or":
		return func(arg bsonx.Value) serial { return s.logical(op, arg) }
	case "$cond":
		return s.cond
	case "$ifNull":
		return s.ifNull
	case "$switch":
		return s.switches
	case "$let":
		return s.let
	case "$map":
		return func(arg bsonx.Value) serial { return s.iteration(op, arg.Doc(), "in") }
	case "$filter":
		return func(arg bsonx.Value) serial { return s.iteration(op, arg.Doc(), "cond") }
	case "$reduce":
		return s.reduce
	case "$zip":
		return s.zip
	default:
		return nil
	}
}

// logical leaves out constants that do not decide.
func (s serialScope) logical(op string, arg bsonx.Value) serial {
	list := []bsonx.Value{arg}
	if arg.Type == bsonx.TypeArray {
		list = arg.Doc().Values()
	}
	decisive := op == "$or"
	var open []serial
	for _, v := range s.all(list) {
		switch {
		case !v.constant:
			open = append(open, v)
		case v.form.Truthy() == decisive:
			return constant(bsonx.Bool(decisive))
		}
	}
	if len(open) == 0 {
		return constant(bsonx.Bool(!decisive))
	}
	return shown(operation(op, forms(open)))
}

func (s serialScope) cond(arg bsonx.Value) serial {
	list := arg.Doc().Values()
	if arg.Type == bsonx.TypeDocument {
		d := arg.Doc()
		list = []bsonx.Value{d.Lookup("if"), d.Lookup("then"), d.Lookup("else")}
	}
	args := s.all(list)
	if len(args) != 3 || !args[0].constant {
		return shown(operation("$cond", forms(args)))
	}
	if args[0].form.Truthy() {
		return args[1]
	}
	return args[2]
}

// ifNull leaves out constants that are null, and what stands after one that is not.
func (s serialScope) ifNull(arg bsonx.Value) serial {
	args := s.all(arg.Doc().Values())
	var open []serial
	for i, v := range args {
		last := i == len(args)-1
		if v.constant && Nullish(v.form) && !last {
			continue
		}
		open = append(open, v)
		if v.constant {
			break
		}
	}
	if len(open) == 1 {
		return open[0]
	}
	return shown(operation("$ifNull", forms(open)))
}

func (s serialScope) switches(arg bsonx.Value) serial {
	var branches []bsonx.Value
	for _, branch := range arg.Doc().Lookup("branches").Doc().Values() {
		when, then := s.expression(branch.Doc().Lookup("case")), s.expression(branch.Doc().Lookup("then"))
		switch {
		case when.constant && !when.form.Truthy():
			continue
		case when.constant && len(branches) == 0:
			return then
		}
		branches = append(branches, bsonx.Document(bsonx.NewDoc("case", when.value(), "then", then.value())))
	}
	args := bsonx.NewDoc("branches", branches)
	if v := arg.Doc().Lookup("default"); !v.IsMissing() {
		otherwise := s.expression(v)
		if len(branches) == 0 {
			return otherwise
		}
		args = bsonx.NewDoc("branches", branches, "default", otherwise.value())
	}
	return shown(operation("$switch", bsonx.Document(args)))
}

// let puts variables that are constant into the expression.
func (s serialScope) let(arg bsonx.Value) serial {
	inner := s
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	n := 0
	for it := arg.Doc().Lookup("vars").Doc().Iter(); it.Next(); {
		v := s.expression(it.Value())
		inner = inner.bind(string(it.Key()), v)
		if !v.constant {
			b.Value(string(it.Key()), v.value())
			n++
		}
	}
	b.End()
	in := inner.expression(arg.Doc().Lookup("in"))
	if n == 0 || in.constant {
		return in
	}
	return shown(operation("$let", bsonx.Document(bsonx.NewDoc("vars", bsonx.Doc(b.Bytes()), "in", in.value()))))
}

// iteration serialises $map and $filter.
func (s serialScope) iteration(op string, args bsonx.Doc, body string) serial {
	name := "this"
	if v := args.Lookup("as"); v.Type == bsonx.TypeString {
		name = v.Str()
	}
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	input := s.expression(args.Lookup("input"))
	b.Value("input", input.value())
	b.String("as", name)
	result := s.bind(name, serial{}).expression(args.Lookup(body))
	b.Value(body, result.value())
	constants := input.constant && result.constant
	if v := args.Lookup("limit"); !v.IsMissing() {
		limit := s.expression(v)
		constants = constants && limit.constant
		b.Value("limit", limit.value())
	}
	b.End()
	return s.folded(op, bsonx.Document(b.Bytes()), constants)
}

func (s serialScope) reduce(arg bsonx.Value) serial {
	d := arg.Doc()
	input, initial := s.expression(d.Lookup("input")), s.expression(d.Lookup("initialValue"))
	in := s.bind("this", serial{}).bind("value", serial{}).expression(d.Lookup("in"))
	form := bsonx.Document(bsonx.NewDoc("input", input.value(), "initialValue", initial.value(), "in", in.value()))
	return s.folded("$reduce", form, input.constant && initial.constant && in.constant)
}

func (s serialScope) zip(arg bsonx.Value) serial {
	d := arg.Doc()
	inputs := s.all(d.Lookup("inputs").Doc().Values())
	defaults := s.all(d.Lookup("defaults").Doc().Values())
	longest := d.Lookup("useLongestLength").Truthy()
	form := bsonx.NewDoc("inputs", forms(inputs), "defaults", forms(defaults), "useLongestLength", longest)
	if allConstant(inputs) && allConstant(defaults) {
		bare := bsonx.NewDoc("inputs", forms(inputs), "useLongestLength", longest)
		if len(defaults) > 0 {
			bare = form
		}
		if v := s.folded("$zip", bsonx.Document(bare), true); v.constant {
			return v
		}
	}
	return shown(operation("$zip", bsonx.Document(form)))
}

// Accumulator returns the serialised form of the use of an accumulator: {$sum: "$a"}.
func (s Serializer) Accumulator(op string, arg bsonx.Value) bsonx.Value {
	scope := serialScope{Serializer: s}
	if op == "$count" {
		return operation("$sum", constant(bsonx.Int32(1)).value())
	}
	names := namedForm(op)
	if names == nil || arg.Type != bsonx.TypeDocument {
		return operation(op, scope.expression(sole(arg)).value())
	}
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for _, name := range names {
		raw := name[0] == '='
		if raw {
			name = name[1:]
		}
		v := arg.Doc().Lookup(name)
		switch {
		case v.IsMissing():
		case raw:
			b.Value(name, v)
		default:
			b.Value(name, scope.expression(v).value())
		}
	}
	b.End()
	return operation(op, bsonx.Document(b.Bytes()))
}
