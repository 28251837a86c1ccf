package expr

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// namedForm returns the names of an operator's arguments in the order in which MongoDB shows them. An argument whose name
// begins with = is shown as it was written.
func namedForm(op string) []string {
	switch op {
	case "$dateToString":
		return []string{"date", "format", "timezone", "onNull"}
	case "$dateFromString":
		return []string{"dateString", "timezone", "format", "onNull", "onError"}
	case "$dateToParts":
		return []string{"date", "timezone", "iso8601"}
	case "$dateFromParts":
		return []string{
			"year", "month", "day", "hour", "minute", "second", "millisecond", "isoWeekYear", "isoWeek", "isoDayOfWeek", "timezone",
		}
	case "$dateAdd", "$dateSubtract":
		return []string{"startDate", "unit", "amount", "timezone"}
	case "$dateDiff":
		return []string{"startDate", "endDate", "unit", "timezone", "startOfWeek"}
	case "$dateTrunc":
		return []string{"date", "unit", "binSize", "timezone", "startOfWeek"}
	case "$convert":
		return []string{"input", "to", "format", "onError", "onNull", "byteOrder", "base"}
	case "$regexMatch", "$regexFind", "$regexFindAll":
		return []string{"input", "regex", "options"}
	case "$trim", "$ltrim", "$rtrim":
		return []string{"input", "chars"}
	case "$replaceOne", "$replaceAll":
		return []string{"input", "find", "replacement"}
	case "$firstN", "$lastN", "$minN", "$maxN":
		return []string{"n", "input"}
	case "$getField":
		return []string{"field", "input"}
	case "$setField":
		return []string{"field", "input", "value"}
	case "$sortArray":
		return []string{"input", "=sortBy"}
	case "$median":
		return []string{"input", "=method"}
	case "$percentile":
		return []string{"input", "=p", "=method"}
	case "$function":
		return []string{"=body", "args", "=lang"}
	case "$topN", "$bottomN":
		return []string{"n", "output", "=sortBy"}
	case "$top", "$bottom":
		return []string{"output", "=sortBy"}
	case "$accumulator":
		return []string{"=init", "initArgs", "=accumulate", "accumulateArgs", "=merge", "=finalize", "=lang"}
	default:
		return nil
	}
}

// conversion returns what a conversion by name converts to.
func conversion(op string) (to string, ok bool) {
	switch op {
	case "$toBool", "$toDate", "$toDecimal", "$toDouble", "$toInt", "$toLong", "$toObjectId", "$toString":
		name := strings.TrimPrefix(op, "$to")
		return strings.ToLower(name[:1]) + name[1:], true
	default:
		return "", false
	}
}

// isDatePart reports whether an operator takes a date and perhaps a time zone.
func isDatePart(op string) bool {
	switch op {
	case "$year", "$month", "$dayOfMonth", "$dayOfWeek", "$dayOfYear", "$hour", "$minute", "$second", "$millisecond",
		"$week", "$isoWeek", "$isoWeekYear", "$isoDayOfWeek":
		return true
	default:
		return false
	}
}

func (s serialScope) operator(op string, arg bsonx.Value) serial {
	isNamed := arg.Type == bsonx.TypeDocument && !strings.HasPrefix(string(arg.Doc().First().Key), "$")
	switch {
	case op == "$literal" || op == "$const":
		return constant(arg)
	case op == "$rand" || op == "$meta":
		return shown(operation(op, arg))
	case isDatePart(op) && isNamed && !arg.Doc().IsEmpty():
		return s.named(op, arg.Doc(), []string{"date", "timezone"})
	case isDatePart(op):
		return s.named(op, bsonx.NewDoc("date", sole(arg)), []string{"date"})
	case op == "$getField" && !isNamed:
		return s.named(op, bsonx.NewDoc("field", arg, "input", "$$CURRENT"), namedForm(op))
	case op == "$unsetField":
		return s.unsetField(arg.Doc())
	}
	if to, ok := conversion(op); ok {
		return s.conversion(op, sole(arg), to)
	}
	if names := namedForm(op); names != nil && isNamed {
		return s.named(op, arg.Doc(), names)
	}
	if special := s.special(op); special != nil {
		return special(arg)
	}
	return s.positional(op, arg)
}

// sole takes the only operand out of an array.
func sole(arg bsonx.Value) bsonx.Value {
	if arg.Type == bsonx.TypeArray && arg.Doc().Len() == 1 {
		return arg.Doc().First().Value
	}
	return arg
}

func (s serialScope) conversion(op string, arg bsonx.Value, to string) serial {
	input := s.expression(arg)
	if input.constant {
		if v := s.folded(op, bsonx.NewArray(input.value()), true); v.constant {
			return v
		}
	}
	args := bsonx.NewDoc("input", input.value(), "to", bsonx.NewDoc("$const", to))
	if to == "string" {
		args = bsonx.NewDoc("input", input.value(), "to", bsonx.NewDoc("$const", to), "format", bsonx.NewDoc("$const", "auto"))
	}
	return shown(operation("$convert", bsonx.Document(args)))
}

func (s serialScope) unsetField(args bsonx.Doc) serial {
	input := s.expression(args.Lookup("input"))
	field := s.expression(args.Lookup("field"))
	if input.constant {
		return s.folded("$unsetField", bsonx.Document(bsonx.NewDoc("field", field.value(), "input", input.value())), true)
	}
	return shown(operation("$setField", bsonx.Document(bsonx.NewDoc("field", field.value(), "input", input.value(), "value", "$$REMOVE"))))
}

// named serialises an operator with named arguments.
func (s serialScope) named(op string, args bsonx.Doc, names []string) serial {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	constants := true
	for _, name := range names {
		raw := strings.HasPrefix(name, "=")
		name = strings.TrimPrefix(name, "=")
		v := args.Lookup(name)
		switch {
		case v.IsMissing():
		case raw:
			b.Value(name, v)
		default:
			e := s.expression(v)
			constants = constants && e.constant
			if e.constant && v.Type == bsonx.TypeArray && op == "$accumulator" {
				b.Value(name, v)
				continue
			}
			b.Value(name, e.value())
		}
	}
	b.End()
	return s.folded(op, bsonx.Document(b.Bytes()), constants)
}

// positional serialises an operator whose operands are an array.
func (s serialScope) positional(op string, arg bsonx.Value) serial {
	list := []bsonx.Value{arg}
	if arg.Type == bsonx.TypeArray {
		list = arg.Doc().Values()
	}
	args := s.all(list)
	if !allConstant(args) {
		args = s.joinConstants(op, args)
	}
	return s.folded(op, forms(args), allConstant(args))
}

// joinConstants computes what operands of an associative operator give together: those that stand side by side, of $add
// and $multiply only the first ones, and all of them where their order does not matter.
func (s serialScope) joinConstants(op string, args []serial) []serial {
	switch op {
	case "$add", "$multiply":
		n := 0
		for args[n].constant {
			n++
		}
		return append(s.joined(op, args[:n]), args[n:]...)
	case "$concat", "$concatArrays":
		var out []serial
		for i := 0; i < len(args); {
			n := i
			for n < len(args) && args[n].constant {
				n++
			}
			out = append(out, s.joined(op, args[i:n])...)
			if n < len(args) {
				out = append(out, args[n])
			}
			i = n + 1
		}
		return out
	case "$max", "$min", "$setUnion", "$setIntersection":
		var constants, others []serial
		for _, a := range args {
			if a.constant {
				constants = append(constants, a)
			} else {
				others = append(others, a)
			}
		}
		return append(others, s.joined(op, constants)...)
	default:
		return args
	}
}

// joined returns one constant for several, or these where they cannot be computed.
func (s serialScope) joined(op string, constants []serial) []serial {
	if len(constants) < 2 {
		return append([]serial(nil), constants...)
	}
	if v := s.folded(op, forms(constants), true); v.constant {
		return []serial{v}
	}
	return append([]serial(nil), constants...)
}
